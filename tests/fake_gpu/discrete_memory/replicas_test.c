/* Replicas on devices with discrete memory: several on one GPU, and with a GPU each over a library in NCCL's place. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/transport/nccl_api.h"
#include "tests/fake_gpu/discrete_memory/discrete_device.h"
#include "tests/fake_gpu/nccl/discrete_nccl.h"
#include "tests/rooms/training/fixture.h"
#include "tests/rooms/training/trace_rows.h"
#include "tests/rooms/training/wrong_label.h"

enum { STEPS = 3 };

static const fake_nccl *fake;

static void use_fake(int gpus) { fake = discrete_nccl_use(gpus); }

static void expect_no_complaint(void) { cr_expect_null(discrete_nccl_complaint(), "%s", discrete_nccl_complaint()); }

/* --------------------------------------------------------------------------------------------------------- training */

typedef struct result {
    weights weights;
    double losses[STEPS], norms[STEPS];
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

/* Nothing is taken on a device from the second step on, and arenas are as planned. */
static result train_steps(const char *model, int steps, const char *const *options, const char *const *more,
                          uint64_t seed) {
    result found = {.recordings = -discrete_get_counts().recordings};
    ons_trainer_status status;
    discrete_seed(seed);
    run r = prepare(model, options, more);
    run_open(&r);
    must(ons_trainer_get_status(r.trainer, &status));
    cr_expect_eq(status.arena_bytes, status.predicted_bytes, "%s: %lld bytes are planned, %lld taken", model,
                 (long long)status.predicted_bytes, (long long)status.arena_bytes);
    int64_t allocations = 0, connections = fake->counts().connections, before = fake->counts().messages;
    for (int i = 0; i < steps; ++i) {
        ons_step_report report = run_step(&r);
        found.losses[i] = report.loss;
        found.norms[i] = report.grad_norm;
        if (i == 0) allocations = discrete_get_counts().allocations;
    }
    cr_expect_eq(discrete_get_counts().allocations, allocations);
    cr_expect_eq(fake->counts().connections, connections, "a pair was connected after the start");
    found.messages = fake->counts().messages - before;
    found.recordings += discrete_get_counts().recordings;
    found.weights = read_weights(&r);
    run_close(&r);
    return found;
}

static result train(const char *model, const char *const *options, const char *const *more, uint64_t seed) {
    return train_steps(model, STEPS, options, more, seed);
}

static void expect_same(const result *is, const result *should, const char *what) {
    for (int i = 0; i < STEPS; ++i)
        cr_expect(is->losses[i] == should->losses[i], "%s: loss of step %d is %.9g instead of %.9g", what, i + 1,
                  is->losses[i], should->losses[i]);
    cr_expect(weights_equal(&is->weights, &should->weights), "%s: the weights differ", what);
}

/* One micro-batch in each replica: the bits of as many micro-batches on one GPU. */
static void expect_micro_batches(const char *model, const char *batch, const char *const *options, uint64_t seeds) {
    static const char *const transports[] = {"local", "nccl"};
    use_fake(12);
    for (uint32_t replicas = 2; replicas <= 4; ++replicas) {
        char count[8], what[96];
        snprintf(count, sizeof count, "%u", replicas);
        result one = train(model, OPTIONS("batch", batch, "micro-batches", count), options, 1);
        for (uint32_t stages = 1; stages <= 3; ++stages)
            for (int i = 0; i < 2; ++i)
                for (uint64_t seed = 1; seed <= seeds; ++seed) {
                    char of[8];
                    snprintf(of, sizeof of, "%u", stages);
                    snprintf(what, sizeof what, "%s, %u replicas of %u stages, %s", model, replicas, stages,
                             transports[i]);
                    result several = train(model,
                                           OPTIONS("batch", batch, "micro-batches", "1", "replicas", count, "stages",
                                                   of, "transport", transports[i]),
                                           options, 100 * replicas + 10 * stages + seed);
                    expect_same(&several, &one, what);
                    cr_expect_eq(several.messages > 0, i == 1);
                    weights_free(&several.weights);
                }
        weights_free(&one.weights);
    }
    expect_no_complaint();
}

Test(replicas, have_the_bits_of_micro_batches, .timeout = 600) { expect_micro_batches("mlp", "24", NULL, 2); }

Test(replicas, have_the_bits_of_micro_batches_with_dropout_and_clipping, .timeout = 600) {
    static const char *const options[] = {"dropout", "0.2", "clip-norm", "0.5", "steps", "2", NULL};
    use_fake(4);
    result one = train_steps("gpt_tied", 2, OPTIONS("batch", "4", "micro-batches", "2"), options, 1);
    result two = train_steps("gpt_tied", 2, OPTIONS("batch", "4", "micro-batches", "1", "replicas", "2", "stages", "2"),
                             options, 2);
    expect_same(&two, &one, "2 replicas of 2 stages");
    weights_free(&one.weights);
    weights_free(&two.weights);
    expect_no_complaint();
}

Test(replicas, have_the_losses_of_one_in_bf16, .timeout = 600) {
    use_fake(2);
    const char *const *options = OPTIONS("batch", "16", "precision", "bf16");
    result one = train("mlp", options, OPTIONS("micro-batches", "2"), 1);
    result two = train("mlp", options, OPTIONS("replicas", "2"), 2);
    expect_same(&two, &one, "2 replicas in bf16");
    weights_free(&one.weights);
    weights_free(&two.weights);
    expect_no_complaint();
}

/* With norms in the log, and without: those of one process. */
Test(replicas, log_norms, .timeout = 300) {
    char log[PATH_BYTES];
    double norms[2][STEPS];
    scratch_path(log, "log");
    use_fake(4);
    for (int i = 0; i < 2; ++i) {
        result found =
            train("mlp", OPTIONS("batch", "16", "log-json", log, "log-grad-norms", "true"),
                  i == 0 ? OPTIONS("micro-batches", "2")
                         : OPTIONS("replicas", "2", "stages", "2", "micro-batches", "1", "shard-optimizer", "true"),
                  1);
        memcpy(norms[i], found.norms, sizeof norms[i]);
        weights_free(&found.weights);
    }
    for (int i = 0; i < STEPS; ++i) cr_expect(norms[0][i] == norms[1][i] && norms[0][i] > 0, "step %d", i + 1);
    unlink(log);
    expect_no_complaint();
}

/* Steps are put on the streams each time: what replicas have for each other depends on the step. */
Test(replicas, are_not_recorded, .timeout = 300) {
    use_fake(2);
    setenv("ONSTAGE_CUDA_GRAPHS", "on", 1);
    result found = train("mlp", OPTIONS("batch", "16", "replicas", "2"), NULL, 1);
    cr_expect_eq(found.recordings, 0);
    weights_free(&found.weights);
    expect_no_complaint();
}

Test(replicas, validate_as_one, .timeout = 300) {
    double losses[3];
    use_fake(2);
    for (int i = 0; i < 3; ++i) {
        run r = prepare("mlp", OPTIONS("batch", "16", "rows", "0:96", "val-rows", "96:150", "val-every", "3"),
                        i == 0 ? OPTIONS("micro-batches", "2")
                               : OPTIONS("replicas", "2", "transport", i == 1 ? "local" : "nccl"));
        ons_step_report report = {0};
        run_open(&r);
        for (int k = 0; k < STEPS; ++k) report = run_step(&r);
        cr_expect(report.validated);
        losses[i] = report.validation_loss;
        run_close(&r);
    }
    cr_expect(losses[0] == losses[1] && losses[0] == losses[2], "%.9g, %.9g, %.9g", losses[0], losses[1], losses[2]);
    expect_no_complaint();
}

/* ------------------------------------------------------------------------------------------------------ checkpoints */

static run start(const char *folder, const char *const *options) {
    run r = prepare("mlp", OPTIONS("batch", "16", "checkpoint", folder, "resume", "true", "threads", "1"), options);
    set(&r, "steps", "4");
    return r;
}

static weights train_halves(const char *const *first, const char *const *second) {
    char folder[PATH_BYTES], command[PATH_BYTES + 16];
    weights found = {0};
    scratch_path(folder, "far-replicas");
    for (int half = 0; half < 2; ++half) {
        run r = start(folder, half == 0 ? first : second);
        run_open(&r);
        for (int i = 0; i < 2; ++i) run_step(&r);
        must(ons_trainer_checkpoint(r.trainer));
        weights_free(&found);
        found = read_weights(&r);
        run_close(&r);
    }
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    cr_expect_eq(system(command), 0);
    return found;
}

/* Slices of the optimiser's states leave the GPU, and come to others. */
Test(checkpoint, of_slices_goes_on, .timeout = 300) {
    use_fake(6);
    const char *const *one = OPTIONS("micro-batches", "2");
    const char *const *whole = OPTIONS("replicas", "2");
    const char *const *divided = OPTIONS("replicas", "2", "shard-optimizer", "true");
    const char *const *shared = OPTIONS("replicas", "2", "shard-optimizer", "true", "transport", "local");
    const char *const *const pairs[][2] = {{divided, divided}, {divided, shared}, {whole, divided},
                                           {shared, whole},    {divided, one},    {one, divided}};
    weights expected = train_halves(one, one);
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; ++i) {
        weights found = train_halves(pairs[i][0], pairs[i][1]);
        cr_expect(weights_equal(&found, &expected), "pair %zu", i);
        weights_free(&found);
    }
    weights_free(&expected);
    expect_no_complaint();
}

/* ---------------------------------------------------------------------------------------------------------- choices */

static void expect_refusal(const char *const *options, ons_status_code code, const char *word, const char *remedy) {
    run r = prepare("mlp", options, NULL);
    must_fail(run_try_open(&r), code, word, remedy, NULL);
    run_close(&r);
}

Test(choice, as_many_gpus_as_stages_of_all_replicas, .timeout = 300) {
    for (int gpus = 3; gpus <= 4; ++gpus) {
        use_fake(gpus);
        result found = train("mlp", OPTIONS("batch", "16", "stages", "2", "replicas", "2"), NULL, 1);
        cr_expect_eq(found.messages > 0, gpus >= 4, "%d GPUs", gpus);
        weights_free(&found.weights);
    }
    expect_no_complaint();
}

Test(choice, refusals, .timeout = 300) {
    use_fake(3);
    expect_refusal(OPTIONS("replicas", "2", "stages", "2", "transport", "nccl"), ONS_UNSUPPORTED, "there are 3 for 4",
                   "without --transport");
    expect_refusal(OPTIONS("replicas", "2", "stages", "2", "pipeline", "pipedream-async"), ONS_UNSUPPORTED,
                   "asynchronous", "1f1b");
    ons_nccl_load_from("libnccl_that_is_not_there.so.2");
    expect_refusal(OPTIONS("replicas", "3"), ONS_UNSUPPORTED, "libnccl_that_is_not_there", "--transport local");
}

/* --------------------------------------------------------------------------------------------------------- failures */

Test(failure, of_a_message_ends_all_replicas_with_one_message, .timeout = 300) {
    for (int after = 1; after < 90; after += 11) {
        use_fake(6);
        run r = prepare("mlp",
                        OPTIONS("batch", "24", "micro-batches", "2", "stages", "2", "replicas", "3", "transport",
                                "nccl", "shard-optimizer", after % 2 == 0 ? "true" : "false"),
                        NULL);
        run_open(&r);
        run_step(&r);
        ons_step_report report;
        fake->fail(after);
        ons_status *status = NULL;
        for (int i = 1; status == NULL && i < STEPS; ++i) status = ons_trainer_step(r.trainer, &report);
        must_fail(status, ONS_IO_ERROR, "replica ", ", stage ", "NCCL", "remote process exited", NULL);
        fake->fail(0);
        run_close(&r);
        expect_no_complaint();
    }
}

Test(failure, of_connecting, .timeout = 300) {
    for (int after = 1; after < 16; after += 4) {
        use_fake(4);
        fake->fail_connecting(after);
        run r = prepare("mlp", OPTIONS("replicas", "2", "stages", "2", "batch", "16", "transport", "nccl"), NULL);
        must_fail(run_try_open(&r), ONS_IO_ERROR, "replica ", "NCCL, connecting", NULL);
        run_close(&r);
    }
}

/* One replica alone sees the label, and is named. */
Test(failure, of_the_data_changes_no_weight_of_any_replica, .timeout = 300) {
    static const char *const transports[] = {"local", "nccl"}, *const stages[] = {"1", "2"};
    for (int i = 0; i < 8; ++i) {
        use_fake(4);
        fake->let_fail();
        expect_wrong_label_changes_nothing(OPTIONS("device", "cuda", "transport", transports[i % 2], "replicas", "2",
                                                   "stages", stages[i / 2 % 2], "shard-optimizer",
                                                   i / 4 == 1 ? "true" : "false"),
                                           transports[i % 2]);
    }
    expect_no_complaint();
}

/* Labels of step 1 are rows 0 to 15, eight of each replica. */
Test(failure, names_the_replica, .timeout = 300) {
    enum { LABEL = 10 };
    for (int i = 0; i < 4; ++i) {
        char name[32];
        use_fake(2);
        fake->let_fail();
        run r = run_without_data("mlp");
        array input = read_npy("tests/agreement/golden/mlp/input.npy"),
              target = read_npy("tests/agreement/golden/mlp/target.npy");
        input.view.dims = input.dims;
        target.view.dims = target.dims;
        ((int64_t *)target.data)[3 + 8 * (i % 2)] = LABEL;
        snprintf(name, sizeof name, "replica %d", i % 2);
        must(ons_config_array(r.config, "x", false, &input.view));
        must(ons_config_array(r.config, "target", false, &target.view));
        set(&r, "device", "cuda");
        set(&r, "replicas", "2");
        set(&r, "batch", "16");
        set(&r, "transport", i < 2 ? "local" : "nccl");
        set(&r, "steps", "2"); /* not all samples: their labels are looked at by the steps alone */
        run_open(&r);
        ons_step_report report;
        must_fail(ons_trainer_step(r.trainer, &report), ONS_INVALID_DATA, name, "step 1", NULL);
        run_close(&r);
        array_free(&input);
        array_free(&target);
    }
    expect_no_complaint();
}

/* ------------------------------------------------------------------------------------------------------------ trace */

Test(trace, shows_sums, .timeout = 300) {
    static const char *const transports[] = {"local", "nccl"};
    for (int i = 0; i < 2; ++i) {
        char path[PATH_BYTES];
        scratch_path(path, "far-replicas.json");
        use_fake(2);
        result plain = train("mlp", OPTIONS("batch", "16", "replicas", "2", "transport", transports[i]), NULL, 1);
        run r =
            prepare("mlp", OPTIONS("batch", "16", "replicas", "2", "transport", transports[i], "trace", path), NULL);
        run_open(&r);
        for (int k = 0; k < STEPS; ++k) cr_expect(run_step(&r).loss == plain.losses[k]);
        must(ons_trainer_finish(r.trainer));
        run_close(&r);
        trace_rows rows = read_trace(path);
        for (int replica = 0; replica < 2; ++replica) {
            cr_expect_gt(find_trace_row(&rows, replica, "compute")->events, STEPS);
            cr_expect_geq(find_trace_row(&rows, replica, "reduce")->events, STEPS);
        }
        weights_free(&plain.weights);
        unlink(path);
    }
    expect_no_complaint();
}
