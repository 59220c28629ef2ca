/* Half weights that updates write for the next step, against casts when a step begins (ONSTAGE_HALF_WEIGHTS=off): the
 * same bits, whatever the updates, stages and micro-batches, where steps are skipped, and on from a checkpoint. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/fake_gpu/discrete_memory/discrete_device.h"
#include "tests/rooms/training/fixture.h"

enum { STEPS = 4 };

typedef struct result {
    weights weights;
    double losses[STEPS];
    int64_t kernels; /* of all steps */
    int skipped;
} result;

#define OPTIONS(...) ((const char *const[]){__VA_ARGS__, NULL})

static run prepare(const char *model, const char *const *options, bool casts, uint64_t seed) {
    if (casts) cr_assert_eq(setenv("ONSTAGE_HALF_WEIGHTS", "off", 1), 0);
    run r = run_golden(model);
    discrete_seed(seed);
    set(&r, "device", "cuda");
    set(&r, "optimizer", "adamw");
    set(&r, "lr", "0.01");
    set(&r, "precision", "bf16");
    set(&r, "threads", "1"); /* a run is resumed with as many */
    set_number(&r, "steps", STEPS);
    for (; *options != NULL; options += 2) set(&r, options[0], options[1]);
    run_open(&r);
    cr_assert_eq(unsetenv("ONSTAGE_HALF_WEIGHTS"), 0);
    return r;
}

static void take_steps(const run *r, int first, int count, result *found) {
    int64_t before = discrete_get_counts().kernels;
    for (int i = first; i < first + count; ++i) {
        ons_step_report report = run_step(r);
        found->losses[i] = report.loss;
        found->skipped += report.skipped;
    }
    found->kernels += discrete_get_counts().kernels - before;
}

static result train(const char *model, const char *const *options, bool casts, uint64_t seed) {
    result found = {.kernels = 0};
    run r = prepare(model, options, casts, seed);
    ons_trainer_status status;
    must(ons_trainer_get_status(r.trainer, &status));
    cr_expect_eq(status.arena_bytes, status.predicted_bytes, "%s: %lld bytes are planned, %lld taken", model,
                 (long long)status.predicted_bytes, (long long)status.arena_bytes);
    take_steps(&r, 0, STEPS, &found);
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

/* Returns how many steps were skipped. `fewer`: steps put less on the streams. */
static int expect_bits(const char *model, const char *const *options, bool fewer) {
    result casts = train(model, options, true, 1);
    for (uint64_t seed = 1; seed <= 2; ++seed) {
        result halves = train(model, options, false, seed);
        expect_same(&halves, &casts, model);
        cr_expect(fewer ? halves.kernels < casts.kernels : halves.kernels == casts.kernels,
                  "%s: %lld launches, %lld with casts", model, (long long)halves.kernels, (long long)casts.kernels);
        weights_free(&halves.weights);
    }
    weights_free(&casts.weights);
    return casts.skipped;
}

Test(half_weights, of_every_optimizer, .timeout = 600) {
    static const char *const options[][3] = {{"sgd", "momentum", "0"},      {"sgd", "momentum", "0.9"},
                                             {"adam", "momentum", "0"},     {"adamw", "momentum", "0"},
                                             {"adagrad", "momentum", "0"},  {"rmsprop", "momentum", "0"},
                                             {"rmsprop", "momentum", "0.9"}};
    for (size_t i = 0; i < sizeof options / sizeof *options; ++i)
        expect_bits("mlp", OPTIONS("batch", "16", "optimizer", options[i][0], options[i][1], options[i][2]), true);
}

Test(half_weights, of_micro_batches_and_stages, .timeout = 600) {
    static const char *const stages[] = {"1", "2", "4"};
    for (size_t i = 0; i < sizeof stages / sizeof *stages; ++i) {
        expect_bits("mlp", OPTIONS("batch", "16", "micro-batches", "4", "stages", stages[i]), true);
        expect_bits("mlp", OPTIONS("batch", "16", "micro-batches", "4", "stages", stages[i], "clip-norm", "0.1"), true);
    }
}

/* A weight that the first and the last stage read is updated in both. */
Test(half_weights, of_weights_that_stages_share, .timeout = 600) {
    expect_bits("gpt_tied", OPTIONS("batch", "8", "micro-batches", "2"), true);
    expect_bits("gpt_tied", OPTIONS("batch", "8", "micro-batches", "2", "stages", "2"), true);
    expect_bits("gpt_tied", OPTIONS("batch", "8", "micro-batches", "2", "stages", "4", "pipeline", "zb-h1"), true);
}

/* Two directions at once on two devices, and several stages on each. */
Test(half_weights, of_other_schedules, .timeout = 600) {
    static const char *const schedules[][2] = {{"2", "chimera"}, {"4", "interleaved"}, {"4", "v"}};
    for (size_t i = 0; i < sizeof schedules / sizeof *schedules; ++i)
        expect_bits("mlp",
                    OPTIONS("batch", "16", "micro-batches", "4", "devices", "2", "stages", schedules[i][0], "pipeline",
                            schedules[i][1]),
                    true);
}

/* Shards of a vocabulary are weights of their own. */
Test(half_weights, of_shards, .timeout = 600) {
    expect_bits("gpt_decomposed", OPTIONS("batch", "8", "micro-batches", "2", "stages", "2", "vocabulary-shards", "2"),
                true);
}

/* Filters are laid out anew when a step begins, from what the update has written. */
Test(half_weights, of_filters, .timeout = 600) {
    expect_bits("cnn_dynamic", OPTIONS("batch", "8", "micro-batches", "2", "stages", "2"), true);
    expect_bits("cnn_dynamic", OPTIONS("batch", "8", "precision", "fp16", "loss-scale", "256"), true);
}

/* An epoch's last micro-batch is smaller: its graph is another one, of the same weights. */
Test(half_weights, of_short_last_batches, .timeout = 600) {
    expect_bits("mlp",
                OPTIONS("rows", "0:30", "batch", "12", "micro-batches", "3", "val-rows", "30:40", "val-every", "1"),
                true);
}

/* Gradients that overflow: such a step leaves weights and half weights as they are. */
Test(half_weights, of_skipped_steps, .timeout = 600) {
    const char *const *options = OPTIONS("batch", "16", "precision", "fp16", "normalize", "x=0,0.01", "lr", "1e-5");
    int skipped = expect_bits("mlp", options, true);
    cr_expect(skipped > 0 && skipped < STEPS, "%d of %d steps were skipped: this test tries nothing", skipped, STEPS);
    options = OPTIONS("batch", "16", "precision", "fp16", "normalize", "x=0,0.01", "lr", "1e-5", "optimizer", "sgd",
                      "stages", "2", "micro-batches", "2");
    cr_expect_gt(expect_bits("mlp", options, true), 0);
}

Test(half_weights, of_replicas, .timeout = 600) {
    expect_bits("mlp", OPTIONS("batch", "16", "micro-batches", "2", "replicas", "2"), true);
}

/* Several versions of a weight have as many half weights. What is computed depends on the cuts, which must not go by
 * what casts cost. */
Test(half_weights, of_several_versions, .timeout = 600) {
#define ASYNCHRONOUS "micro-batches", "4", "pipeline", "pipedream-async", "partition", "uniform"
    expect_bits("mlp", OPTIONS("batch", "16", "stages", "2", ASYNCHRONOUS), true);
    expect_bits("mlp", OPTIONS("batch", "16", "stages", "3", "optimizer", "sgd", ASYNCHRONOUS), true);
    expect_bits(
        "gpt_tied",
        OPTIONS("batch", "8", "stages", "3", "rows", "0:24", "val-rows", "24:32", "val-every", "2", ASYNCHRONOUS),
        true);
#undef ASYNCHRONOUS
}

/* Casts stay: of slices that replicas send each other. */
Test(half_weights, not_here, .timeout = 600) {
    expect_bits("mlp", OPTIONS("batch", "16", "replicas", "2", "shard-optimizer", "true"), false);
}

/* ------------------------------------------------------------------------------------------------------ checkpoints */

static void remove_folder(const char *folder) {
    char command[PATH_BYTES + 16];
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    cr_expect_eq(system(command), 0);
}

/* Half of the steps to a checkpoint, the others from it, with `stages`; `casts` of either part. */
static result train_in_parts(const char *folder, const char *pipeline, const char *const stages[2],
                             const bool casts[2]) {
    result found = {.kernels = 0};
    for (int part = 0; part < 2; ++part) {
        const char *partition = strcmp(stages[part], "1") == 0 ? "auto" : "uniform";
        run r =
            prepare("mlp",
                    OPTIONS("batch", "16", "micro-batches", "2", "stages", stages[part], "checkpoint", folder,
                            "checkpoint-every", "2", "resume", "true", "pipeline", pipeline, "partition", partition),
                    casts[part], 3);
        take_steps(&r, part * STEPS / 2, STEPS / 2, &found);
        if (part == 1) found.weights = read_weights(&r);
        run_close(&r);
    }
    return found;
}

/* Half weights are made again of what a checkpoint holds, whoever wrote it. */
Test(half_weights, on_from_a_checkpoint, .timeout = 600) {
    static const struct {
        const char *stages[2];
        bool casts[2];
    } parts[] = {{{"1", "1"}, {false, false}},
                 {{"2", "1"}, {false, false}},
                 {{"1", "3"}, {false, false}},
                 {{"1", "1"}, {true, false}},
                 {{"2", "1"}, {false, true}}};
    result whole = train("mlp", OPTIONS("batch", "16", "micro-batches", "2"), true, 1);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; ++i) {
        char folder[PATH_BYTES];
        scratch_path(folder, "checkpoint");
        result resumed = train_in_parts(folder, "1f1b", parts[i].stages, parts[i].casts);
        expect_same(&resumed, &whole, "a resumed run");
        weights_free(&resumed.weights);
        remove_folder(folder);
    }
    weights_free(&whole.weights);
}

/* An asynchronous pipeline ends its first part with some version of each weight, and begins the second with the first.
 */
Test(half_weights, on_from_a_checkpoint_of_several_versions, .timeout = 600) {
    char folder[PATH_BYTES];
    result found[2];
    for (int casts = 0; casts < 2; ++casts) {
        scratch_path(folder, "checkpoint");
        found[casts] = train_in_parts(folder, "pipedream-async", (const char *const[]){"3", "3"},
                                      (const bool[]){casts == 1, casts == 1});
        remove_folder(folder);
    }
    expect_same(&found[0], &found[1], "a resumed run");
    for (int i = 0; i < 2; ++i) weights_free(&found[i].weights);
}

/* Half weights are in no checkpoint: its tensors are those of a run with casts, byte for byte. */
Test(half_weights, in_no_checkpoint, .timeout = 600) {
    char folders[2][PATH_BYTES], command[3 * PATH_BYTES];
    for (int casts = 0; casts < 2; ++casts) {
        scratch_path(folders[casts], casts ? "casts" : "halves");
        result found = train(
            "mlp", OPTIONS("batch", "16", "optimizer", "sgd", "checkpoint", folders[casts], "checkpoint-every", "4"),
            casts == 1, 1);
        weights_free(&found.weights);
    }
    snprintf(
        command, sizeof command,
        "cd '%s' && ls *.safetensors && for file in *.safetensors; do cmp \"$file\" '%s'/\"$file\" || exit 1; done",
        folders[0], folders[1]);
    cr_expect_eq(system(command), 0);
    for (int i = 0; i < 2; ++i) remove_folder(folders[i]);
}
