/* Stages with a GPU each: devices with discrete memory, and a library in NCCL's place that compares what both ends of a
 * message ask for.
 */
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/device_kind.h"
#include "runtime/transport/nccl_api.h"
#include "runtime/transport/transport_nccl.h"
#include "tests/fake_gpu/discrete_memory/discrete_device.h"
#include "tests/fake_gpu/nccl/fake_nccl.h"
#include "tests/rooms/training/fixture.h"
#include "tests/rooms/training/wrong_label.h"

enum { STEPS = 3, GPUS_MOST = 8 };

static const char library[] = "tests/fake_gpu/nccl/libfake_nccl.so";
static const fake_nccl *fake;

static void use_fake(int gpus) {
    static const fake_nccl_streams streams = {discrete_put_when, discrete_wake, discrete_current_gpu};
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    cr_assert(handle != NULL, "%s", dlerror());
    const fake_nccl *(*table)(void) = (const fake_nccl *(*)(void))dlsym(handle, "fake_nccl_table");
    cr_assert(table != NULL);
    fake = table();
    fake->use(&streams);
    ons_nccl_load_from(library);
    discrete_gpus(gpus);
}

static void expect_no_complaint(void) {
    const char *complaint = fake->complaint();
    cr_expect(complaint == NULL, "%s", complaint);
    cr_expect_eq(fake->counts().alive, 0, "communicators are left");
}

/* ---------------------------------------------------------------------------------------------------------- traffic */

/* Random messages between some ranks, in an order that all know; each rank has a thread, as a stage does. */
enum { RANKS = 4, MESSAGES = 120, BYTES_MOST = 5000, CHANNELS_EACH_WAY = 2 };

typedef struct traffic_message {
    uint32_t from, to, number, bytes;
} traffic_message;

typedef struct traffic_rank {
    ons_transport *transport;
    const traffic_message *messages;
    int gpu, wrong;
} traffic_rank;

static uint32_t draw(uint64_t *state, uint32_t below) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33) % below;
}

/* A message's bytes tell which one it is. */
static uint8_t content(int message, uint32_t at) { return (uint8_t)(message * 31 + (int)at * 7); }

typedef struct traffic_put {
    ons_nccl_channel *channel;
    void *data;
    size_t bytes;
    bool sends;
} traffic_put;

static void put_message(void *argument, uintptr_t native) {
    const traffic_put *p = argument;
    if (p->sends)
        ons_nccl_send(p->channel, native, p->data, p->bytes);
    else
        ons_nccl_receive(p->channel, native, p->data, p->bytes);
}

typedef struct traffic_end {
    ons_stream *stream;
    ons_nccl_channel *channel;
} traffic_end;

/* All messages lie one behind the other in a rank's memory. */
static void run_messages(traffic_rank *r, ons_device *device, traffic_end ends[RANKS][2][CHANNELS_EACH_WAY],
                         char *memory, char *host) {
    uint32_t rank = r->transport->rank;
    for (int i = 0; i < MESSAGES; ++i) {
        const traffic_message *m = &r->messages[i];
        if (m->from != rank && m->to != rank) continue;
        bool sends = m->from == rank;
        traffic_end *e = &ends[sends ? m->to : m->from][sends][m->number];
        traffic_put put = {e->channel, memory + (size_t)i * BYTES_MOST, m->bytes, sends};
        for (uint32_t at = 0; sends && at < m->bytes; ++at) host[(size_t)i * BYTES_MOST + at] = (char)content(i, at);
        if (sends) device->copy(e->stream, put.data, host + (size_t)i * BYTES_MOST, m->bytes);
        device->launch(e->stream, put_message, &put);
        if (!sends) device->copy(e->stream, host + (size_t)i * BYTES_MOST, put.data, m->bytes);
    }
}

static void *drive_traffic(void *argument) {
    traffic_rank *r = argument;
    const ons_device_kind *kind;
    ons_device *device;
    ons_stream *compute;
    ons_event *event;
    ons_nccl *nccl;
    traffic_end ends[RANKS][2][CHANNELS_EACH_WAY];
    void *memory;
    size_t bytes = (size_t)MESSAGES * BYTES_MOST + 64;
    char *host = calloc(1, bytes);
    must(ons_device_kind_find("cuda", &kind));
    must(kind->device_new(r->gpu, 0, false, &device));
    must(device->allocate(device, (int64_t)bytes, &memory));
    must(device->stream_new(device, "compute", 1, &compute));
    must(device->event_new(device, &event));
    must(ons_nccl_new(r->transport, device, RANKS, &nccl));
    uint32_t rank = r->transport->rank;
    for (uint32_t other = 0; other < RANKS; ++other)
        for (uint32_t k = 0; other != rank && k < 2 * CHANNELS_EACH_WAY; ++k) {
            bool sends = k % 2 == 1;
            traffic_end *e = &ends[other][sends][k / 2];
            must(device->stream_new(device, "channel", 1, &e->stream));
            must(ons_nccl_open(nccl, sends ? rank : other, sends ? other : rank, k / 2, e->stream, &e->channel));
        }
    ons_fault *fault = (ons_fault *)(void *)((char *)memory + bytes - 64);
    must(ons_nccl_connect(nccl, compute, fault, memory));
    run_messages(r, device, ends, memory, host);
    for (uint32_t other = 0; other < RANKS; ++other)
        for (uint32_t k = 0; other != rank && k < 2 * CHANNELS_EACH_WAY; ++k)
            device->stream_free(ends[other][k % 2][k / 2].stream);
    for (int i = 0; i < MESSAGES; ++i)
        for (uint32_t at = 0; r->messages[i].to == rank && at < r->messages[i].bytes; ++at)
            r->wrong += (uint8_t)host[(size_t)i * BYTES_MOST + at] != content(i, at);
    must(device->failure(device));
    ons_nccl_free(nccl);
    device->stream_free(compute);
    device->event_free(event);
    device->release(device, memory, (int64_t)bytes);
    device->free(device);
    free(host);
    return NULL;
}

static void run_traffic(uint64_t seed) {
    traffic_message messages[MESSAGES];
    traffic_rank ranks[RANKS];
    ons_transport *transports[RANKS];
    pthread_t threads[RANKS];
    uint64_t state = seed;
    discrete_seed(seed);
    for (int i = 0; i < MESSAGES; ++i) {
        traffic_message *m = &messages[i];
        m->from = draw(&state, RANKS);
        m->to = (m->from + 1 + draw(&state, RANKS - 1)) % RANKS;
        m->number = draw(&state, CHANNELS_EACH_WAY);
        m->bytes = draw(&state, 4) == 0 ? draw(&state, BYTES_MOST) : 1 + draw(&state, 64);
    }
    must(ons_local_transports_new(RANKS, transports));
    for (int i = 0; i < RANKS; ++i) {
        ranks[i] = (traffic_rank){.transport = transports[i], .messages = messages, .gpu = i};
        cr_assert_eq(pthread_create(&threads[i], NULL, drive_traffic, &ranks[i]), 0);
    }
    for (int i = 0; i < RANKS; ++i) {
        pthread_join(threads[i], NULL);
        cr_expect_eq(ranks[i].wrong, 0, "seed %llu: rank %d has %d wrong bytes", (unsigned long long)seed, i,
                     ranks[i].wrong);
        transports[i]->free(transports[i]);
    }
}

Test(nccl, random_traffic, .timeout = 300) {
    use_fake(RANKS);
    for (uint64_t seed = 1; seed <= 4; ++seed) run_traffic(seed);
    expect_no_complaint();
    cr_expect_eq(fake->counts().messages, 4 * (2 * MESSAGES + 2 * RANKS * (RANKS - 1) * CHANNELS_EACH_WAY));
}

/* --------------------------------------------------------------------------------------------------------- training */

typedef struct result {
    weights weights;
    double losses[STEPS];
    int64_t messages, recordings;
} result;

#define OPTIONS(...) ((const char *const[]){__VA_ARGS__, NULL})

static run prepare(const char *model, const char *const *options, const char *const *more) {
    run r = run_golden(model);
    set(&r, "device", "cuda");
    set(&r, "optimizer", "adamw");
    set(&r, "lr", "0.01");
    set_number(&r, "steps", STEPS);
    for (; *options != NULL; options += 2) set(&r, options[0], options[1]);
    for (; more != NULL && *more != NULL; more += 2) set(&r, more[0], more[1]);
    return r;
}

static result train(const char *model, const char *const *options, const char *const *more, uint64_t seed) {
    result found = {0};
    discrete_seed(seed);
    run r = prepare(model, options, more);
    run_open(&r);
    int64_t allocations = 0, connections = fake->counts().connections, before = fake->counts().messages;
    int64_t recordings = discrete_get_counts().recordings;
    for (int i = 0; i < STEPS; ++i) {
        found.losses[i] = run_step(&r).loss;
        if (i == 0) allocations = discrete_get_counts().allocations;
    }
    cr_expect_eq(discrete_get_counts().allocations, allocations);
    cr_expect_eq(fake->counts().connections, connections, "a pair was connected after the start");
    found.messages = fake->counts().messages - before;
    found.recordings = discrete_get_counts().recordings - recordings;
    found.weights = read_weights(&r);
    run_close(&r);
    return found;
}

static void expect_same(const result *is, const result *should, const char *what) {
    for (int i = 0; i < STEPS; ++i)
        cr_expect(is->losses[i] == should->losses[i], "%s: loss of step %d is %.9g instead of %.9g", what, i + 1,
                  is->losses[i], should->losses[i]);
    cr_expect(weights_equal(&is->weights, &should->weights), "%s: the weights differ", what);
}

/* Stages, schedule, micro-batches, clipping and the order of streams by chance; the bits of one stage. `splits`: into
 * how many different numbers of micro-batches; 1: two. */
static void expect_stages(const char *model, const char *batch, uint32_t splits, int runs) {
    static const char *const schedules[] = {"1f1b", "gpipe"};
    uint64_t state = 5;
    for (int i = 0; i < runs; ++i) {
        char stages[8], micro_batches[8], what[96];
        snprintf(stages, sizeof stages, "%u", 2 + draw(&state, 3));
        snprintf(micro_batches, sizeof micro_batches, "%u", splits == 1 ? 2u : 1u << draw(&state, splits));
        const char *schedule = schedules[draw(&state, 2)], *clip = draw(&state, 2) == 0 ? "0" : "0.5";
        const char *const *options = OPTIONS("batch", batch, "micro-batches", micro_batches, "clip-norm", clip);
        snprintf(what, sizeof what, "%s, %s stages, %s, %s micro-batches, clip %s", model, stages, schedule,
                 micro_batches, clip);
        result one = train(model, options, NULL, 1);
        result several = train(model, options, OPTIONS("stages", stages, "pipeline", schedule, "transport", "nccl"),
                               10 + (uint64_t)i);
        expect_same(&several, &one, what);
        cr_expect_gt(several.messages, 0);
        weights_free(&one.weights);
        weights_free(&several.weights);
    }
    expect_no_complaint();
}

Test(nccl, stages, .timeout = 600) {
    use_fake(4);
    expect_stages("mlp", "16", 3, 8);
    expect_stages("mlp_frozen", "32", 1, 2);
}

Test(nccl, stages_that_share_weights, .timeout = 600) {
    use_fake(4);
    expect_stages("gpt_tied", "8", 1, 2);
}

/* Two stages on each of two GPUs: messages of several stages go between the same two. */
Test(nccl, several_stages_on_a_gpu, .timeout = 600) {
    static const char *const schedules[] = {"interleaved", "looped", "v"};
    use_fake(2);
    const char *const *options = OPTIONS("batch", "16", "micro-batches", "4", "clip-norm", "0.5");
    result one = train("mlp", options, NULL, 1);
    for (size_t i = 0; i < sizeof schedules / sizeof *schedules; ++i) {
        const char *const *more = OPTIONS("stages", "4", "devices", "2", "pipeline", schedules[i], "transport", "nccl");
        result several = train("mlp", options, more, 20 + i);
        expect_same(&several, &one, schedules[i]);
        cr_expect_gt(several.messages, 0);
        weights_free(&several.weights);
    }
    weights_free(&one.weights);
    expect_no_complaint();
}

Test(nccl, asynchronous, .timeout = 600) {
    use_fake(3);
    const char *const *options =
        OPTIONS("micro-batches", "4", "stages", "3", "pipeline", "pipedream-async", "optimizer", "sgd");
    result shared = train("mlp", options, OPTIONS("transport", "local"), 1);
    result own = train("mlp", options, OPTIONS("transport", "nccl"), 2);
    cr_expect_eq(shared.messages, 0);
    expect_same(&own, &shared, "a GPU each");
    weights_free(&shared.weights);
    weights_free(&own.weights);
    expect_no_complaint();
}

/* NCCL's calls can be recorded; nobody asks for it but the user. */
Test(nccl, recorded_where_asked_for, .timeout = 600) {
    use_fake(2);
    const char *const *options = OPTIONS("batch", "16", "micro-batches", "4", "stages", "2", "transport", "nccl");
    result plain = train("mlp", options, NULL, 1);
    setenv("ONSTAGE_CUDA_GRAPHS", "on", 1);
    result recorded = train("mlp", options, NULL, 2);
    cr_expect_eq(plain.recordings, 0);
    cr_expect_eq(recorded.recordings, 4, "of 2 stages, each with 2 places of data: %lld",
                 (long long)recorded.recordings);
    expect_same(&recorded, &plain, "recorded");
    weights_free(&plain.weights);
    weights_free(&recorded.weights);
    expect_no_complaint();
}

/* ------------------------------------------------------------------------------------------------------ which it is */

Test(choice, as_many_gpus_as_stages, .timeout = 300) {
    for (int gpus = 1; gpus <= 3; ++gpus) {
        use_fake(gpus);
        result found = train("mlp", OPTIONS("batch", "16", "stages", "2"), NULL, 1);
        cr_expect_eq(found.messages > 0, gpus >= 2, "%d GPUs", gpus);
        weights_free(&found.weights);
    }
    expect_no_complaint();
}

static void expect_refusal(const char *const *options, ons_status_code code, const char *word, const char *remedy) {
    run r = prepare("mlp", options, NULL);
    must_fail(run_try_open(&r), code, word, remedy, NULL);
    run_close(&r);
}

Test(choice, refusals, .timeout = 300) {
    use_fake(1);
    expect_refusal(OPTIONS("stages", "2", "transport", "nccl"), ONS_UNSUPPORTED, "one stage a GPU",
                   "without --transport");
    expect_refusal(OPTIONS("stages", "2", "transport", "mpi"), ONS_UNSUPPORTED, "NCCL", "--transport nccl");
    expect_refusal(OPTIONS("stages", "2", "transport", "nccl", "device", "cpu"), ONS_INVALID_ARGUMENT, "NCCL",
                   "--device cuda");
    discrete_gpus(2);
    ons_nccl_load_from("libnccl_that_is_not_there.so.2");
    expect_refusal(OPTIONS("stages", "2"), ONS_UNSUPPORTED, "libnccl_that_is_not_there", "--transport local");
}

/* --------------------------------------------------------------------------------------------------------- failures */

Test(failure, of_a_message_ends_all_stages_with_one_message, .timeout = 300) {
    for (int after = 1; after < 60; after += 19) {
        use_fake(3);
        run r = prepare("mlp", OPTIONS("batch", "16", "micro-batches", "4", "stages", "3", "transport", "nccl"), NULL);
        run_open(&r);
        run_step(&r);
        ons_step_report report;
        fake->fail(after);
        ons_status *status = NULL;
        for (int i = 1; status == NULL && i < STEPS; ++i) status = ons_trainer_step(r.trainer, &report);
        must_fail(status, ONS_IO_ERROR, "stage ", "NCCL", "remote process exited", NULL);
        fake->fail(0);
        run_close(&r);
        expect_no_complaint();
    }
}

Test(failure, of_connecting, .timeout = 300) {
    use_fake(3);
    fake->fail_connecting(4);
    run r = prepare("mlp", OPTIONS("stages", "3", "micro-batches", "4", "transport", "nccl"), NULL);
    must_fail(run_try_open(&r), ONS_IO_ERROR, "stage ", "NCCL, connecting", NULL);
    run_close(&r);
}

/* The last stage alone sees labels. */
Test(failure, of_the_data_changes_no_weight_of_any_stage, .timeout = 300) {
    static const char *const stages[] = {"2", "3", "4"};
    for (int i = 0; i < 3; ++i) {
        use_fake(2 + i);
        expect_wrong_label_changes_nothing(
            OPTIONS("device", "cuda", "transport", "nccl", "micro-batches", "2", "stages", stages[i]), stages[i]);
    }
}
