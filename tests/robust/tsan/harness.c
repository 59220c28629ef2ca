/* What the thread sanitizer watches: streams, events and copies of the CPU device, messages between threads, and whole
 * training runs with every background thread that there is, two of them at once. A plain program, since Criterion does
 * not start under this sanitizer; with one compute thread each, since libgomp is not instrumented.
 *
 *     harness MODEL.onnx FOLDER        MODEL takes x: float32[batch, 20] and tells 10 classes apart
 *     harness --race                   makes a race on purpose: what watches must report it
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device/device.h"
#include "include/onstage.h"
#include "tests/rooms/runtime/traffic.h"

enum {
    STREAMS = 4,
    ROUNDS = 500,
    ELEMENTS = 1024,
    SAMPLES = 256,
    INPUTS = 20,
    CLASSES = 10,
    STEPS = 60,
    RUNS = 2,
    RANKS = 3
};

static int passed, failed;

static void report(const char *name, bool good) {
    *(good ? &passed : &failed) += 1;
    printf("%s  %s\n", good ? "ok    " : "FAILED", name);
}

static bool succeeded(ons_status *status) {
    if (status != NULL) fprintf(stderr, "harness: %s\n", ons_status_get_message(status));
    bool good = status == NULL;
    ons_status_free(status);
    return good;
}

/* ---------------------------------------------------------------------------------------------------------- streams */

static void increment(void *argument, uintptr_t native) {
    int *numbers = argument;
    for (int i = 0; i < ELEMENTS; ++i) ++numbers[i];
}

/* A number block goes round all streams: each increments it, and the next one waits for that; copies of it run beside.
 */
static bool circulate(ons_device *device) {
    static int block[ELEMENTS], copies[STREAMS][ELEMENTS];
    ons_stream *streams[STREAMS];
    ons_event *done[STREAMS], *copied[STREAMS];
    for (int i = 0; i < STREAMS; ++i)
        if (!succeeded(device->stream_new(device, "stream", 1, &streams[i])) ||
            !succeeded(device->event_new(device, &done[i])) || !succeeded(device->event_new(device, &copied[i])))
            return false;
    for (int round = 0; round < ROUNDS; ++round) {
        int here = round % STREAMS, before = (round + STREAMS - 1) % STREAMS;
        if (round > 0) device->stream_wait(streams[here], copied[before]);
        device->launch(streams[here], increment, block);
        device->event_record(streams[here], done[here]);
        device->copy(streams[here], copies[here], block, sizeof block);
        device->event_record(streams[here], copied[here]);
    }
    int last = (ROUNDS - 1) % STREAMS;
    device->event_synchronize(copied[last]);
    bool good = block[0] == ROUNDS && copies[last][ELEMENTS - 1] == ROUNDS;
    for (int i = 0; i < STREAMS; ++i) {
        device->stream_free(streams[i]);
        device->event_free(done[i]);
        device->event_free(copied[i]);
    }
    return good;
}

/* Two streams on one block, and neither waits for the other. */
static bool race(ons_device *device) {
    static int block[ELEMENTS];
    ons_stream *streams[2];
    ons_event *done[2];
    for (int i = 0; i < 2; ++i)
        if (!succeeded(device->stream_new(device, "stream", 1, &streams[i])) ||
            !succeeded(device->event_new(device, &done[i])))
            return false;
    for (int round = 0; round < ROUNDS; ++round)
        for (int i = 0; i < 2; ++i) device->launch(streams[i], increment, block);
    for (int i = 0; i < 2; ++i) {
        device->event_record(streams[i], done[i]);
        device->event_synchronize(done[i]);
        device->stream_free(streams[i]);
        device->event_free(done[i]);
    }
    return true;
}

/* --------------------------------------------------------------------------------------------------------- messages */

typedef struct rank {
    ons_transport *transport;
    uint64_t seed, digest;
    bool fails, failed;
} rank;

static void *exchange(void *argument) {
    rank *r = argument;
    if (r->fails) {
        ons_status *why = ons_status_new(ONS_DIVERGED, "on purpose");
        usleep(2000);
        r->transport->fail(r->transport, why);
        ons_status_free(why);
    }
    ons_status *status = ons_traffic_run(r->transport, r->seed, &r->digest);
    r->failed = status != NULL;
    ons_status_free(status);
    r->transport->free(r->transport);
    return NULL;
}

/* Random traffic between threads; with `fails` one of them ends it. */
static bool exchange_messages(uint64_t seed, bool fails) {
    ons_transport *transports[RANKS];
    rank ranks[RANKS] = {0};
    pthread_t threads[RANKS];
    if (!succeeded(ons_local_transports_new(RANKS, transports))) return false;
    for (int i = 0; i < RANKS; ++i) {
        ranks[i] = (rank){.transport = transports[i], .seed = seed, .fails = fails && i == 1};
        if (pthread_create(&threads[i], NULL, exchange, &ranks[i]) != 0) return false;
    }
    bool good = true;
    for (int i = 0; i < RANKS; ++i) pthread_join(threads[i], NULL);
    for (int i = 0; i < RANKS; ++i) good &= ranks[i].failed == fails && (fails || ranks[i].digest == ranks[0].digest);
    return good;
}

static void exchange_all(void) {
    bool whole = true, cut_off = true;
    for (uint64_t seed = 1; seed <= 5; ++seed) {
        whole &= exchange_messages(seed, false);
        cut_off &= exchange_messages(seed, true);
    }
    report("messages between threads", whole);
    report("messages between threads, cut off by a failure", cut_off);
}

/* --------------------------------------------------------------------------------------------------------- training */

typedef struct training {
    const char *model, *folder;
    int number;
    float inputs[SAMPLES][INPUTS];
    int64_t labels[SAMPLES];
    double loss;
    bool good;
} training;

static bool set_file(ons_config *config, const training *t, const char *option, const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%d-%s", t->folder, t->number, name);
    return succeeded(ons_config_set(config, option, path));
}

static bool configure(ons_config *config, training *t) {
    static const char *const options[][2] = {{"loss", "cross_entropy"}, {"batch", "24"},     {"micro-batches", "2"},
                                             {"threads", "1"},          {"seed", "3"},       {"checkpoint-every", "7"},
                                             {"val-every", "10"},       {"val-rows", ":50"}, {"log-grad-norms", "true"},
                                             {"pin", "false"},          {"lr", "1e-2"},      {"clip-norm", "1"}};
    for (size_t i = 0; i < sizeof options / sizeof options[0]; ++i)
        if (!succeeded(ons_config_set(config, options[i][0], options[i][1]))) return false;
    char steps[16];
    snprintf(steps, sizeof steps, "%d", STEPS);
    const int64_t input_dims[] = {SAMPLES, INPUTS}, label_dims[] = {SAMPLES};
    const ons_array_view inputs = {ONS_ELEMENT_FLOAT32, 2, input_dims, t->inputs};
    const ons_array_view labels = {ONS_ELEMENT_INT64, 1, label_dims, t->labels};
    bool good = succeeded(ons_config_set(config, "steps", steps)) && set_file(config, t, "out", "trained.onnx") &&
                set_file(config, t, "checkpoint", "runs") && set_file(config, t, "log-json", "log.jsonl") &&
                set_file(config, t, "trace", "trace.json") && set_file(config, t, "tensorboard", "events");
    for (int validation = 0; good && validation < 2; ++validation)
        good = succeeded(ons_config_array(config, "x", validation, &inputs)) &&
               succeeded(ons_config_array(config, "target", validation, &labels));
    return good;
}

static bool run_steps(ons_trainer *trainer, training *t) {
    ons_trainer_status status;
    while (!ons_trainer_done(trainer)) {
        ons_step_report step;
        if (!succeeded(ons_trainer_step(trainer, &step)) || !succeeded(ons_trainer_get_status(trainer, &status)))
            return false;
        t->loss = step.loss;
    }
    ons_evaluation evaluation;
    return succeeded(ons_trainer_evaluate(trainer, &evaluation)) && succeeded(ons_trainer_save(trainer, NULL)) &&
           succeeded(ons_trainer_finish(trainer));
}

static void *train(void *argument) {
    training *t = argument;
    ons_config *config = NULL;
    ons_model *model = NULL;
    ons_trainer *trainer = NULL;
    t->good = succeeded(ons_config_new(&config)) && configure(config, t) &&
              succeeded(ons_model_load(t->model, config, &model)) &&
              succeeded(ons_trainer_new(model, config, &trainer)) && run_steps(trainer, t);
    ons_trainer_free(trainer);
    ons_model_free(model);
    ons_config_free(config);
    return NULL;
}

static void make_data(training *t) {
    uint32_t state = 1;
    for (int i = 0; i < SAMPLES; ++i) {
        t->labels[i] = i % CLASSES;
        for (int k = 0; k < INPUTS; ++k) {
            state = state * 1664525u + 1013904223u;
            t->inputs[i][k] = (float)(state >> 8) / 16777216.0f + (k == t->labels[i] ? 1.0f : 0.0f);
        }
    }
}

static void train_beside_each_other(const char *model, const char *folder) {
    static training runs[RUNS];
    pthread_t threads[RUNS];
    bool good = true;
    for (int i = 0; i < RUNS; ++i) {
        runs[i].model = model;
        runs[i].folder = folder;
        runs[i].number = i;
        make_data(&runs[i]);
        good &= pthread_create(&threads[i], NULL, train, &runs[i]) == 0;
    }
    for (int i = 0; good && i < RUNS; ++i) {
        pthread_join(threads[i], NULL);
        good = runs[i].good;
    }
    report("two training runs beside each other", good);
    report("both come to the same result, bit for bit", good && runs[0].loss == runs[1].loss);
}

int main(int argc, char **argv) {
    bool races = argc == 2 && strcmp(argv[1], "--race") == 0;
    if (argc != 3 && !races) {
        fprintf(stderr, "usage: harness MODEL.onnx FOLDER | --race\n");
        return 2;
    }
    ons_device *device = NULL;
    bool good = succeeded(ons_cpu_device_new(0, false, &device)) && (races ? race : circulate)(device);
    if (!races) report("streams that wait for each other", good);
    if (device != NULL) device->free(device);
    if (races) return good ? 0 : 2;
    exchange_all();
    train_beside_each_other(argv[1], argv[2]);
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
