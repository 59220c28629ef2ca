/* Steps that are recorded once and repeated by one call give the bits of steps whose work is put on streams each time.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fake_gpu/discrete_memory/discrete_device.h"
#include "tests/rooms/training/fixture.h"

enum { STEPS_MOST = 12 };

typedef struct result {
    int steps;
    double losses[STEPS_MOST], validation[STEPS_MOST];
    int64_t kernels[STEPS_MOST]; /* put on streams by the host, in each step */
    int64_t recordings, repetitions, swapped;
    weights weights;
} result;

#define OPTIONS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* `graphs`: of ONSTAGE_CUDA_GRAPHS. `options`: pairs, NULL ends them. */
static result train(const char *model, const char *graphs, const char *const *options, uint64_t seed) {
    run r = run_golden(model);
    result found = {0};
    discrete_counts before = discrete_get_counts();
    discrete_seed(seed);
    setenv("ONSTAGE_CUDA_GRAPHS", graphs, 1);
    set(&r, "device", "cuda");
    set(&r, "lr", "0.01");
    set(&r, "lr-schedule", "cosine");
    set(&r, "seed", "3");
    for (; *options != NULL; options += 2) set(&r, options[0], options[1]);
    run_open(&r);
    while (!ons_trainer_done(r.trainer) && found.steps < STEPS_MOST) {
        int64_t kernels = discrete_get_counts().kernels;
        ons_step_report report = run_step(&r);
        found.kernels[found.steps] = discrete_get_counts().kernels - kernels;
        found.validation[found.steps] = report.validated ? report.validation_loss : 0;
        found.losses[found.steps++] = report.loss;
    }
    ons_stage_report stage = {0}; /* of a planned run */
    if (ons_trainer_stage_count(r.trainer) > 0) must(ons_trainer_get_stage(r.trainer, 0, &stage));
    found.swapped = stage.swapped_bytes;
    found.weights = read_weights(&r);
    run_close(&r);
    found.recordings = discrete_get_counts().recordings - before.recordings;
    found.repetitions = discrete_get_counts().repetitions - before.repetitions;
    return found;
}

static void expect_same(const result *is, const result *should) {
    cr_assert_eq(is->steps, should->steps);
    for (int i = 0; i < is->steps; ++i) {
        cr_expect(is->losses[i] == should->losses[i], "loss of step %d is %.9g instead of %.9g", i + 1, is->losses[i],
                  should->losses[i]);
        cr_expect(is->validation[i] == should->validation[i], "validation in step %d", i + 1);
    }
    cr_expect(weights_equal(&is->weights, &should->weights), "the weights differ");
}

/* Three orders of streams; the last run is returned, without its weights. */
static result expect_no_difference(const char *model, const char *const *options) {
    result plain = train(model, "off", options, 1), kept = {0};
    cr_expect_eq(plain.recordings, 0);
    for (uint64_t seed = 1; seed <= 3; ++seed) {
        kept = train(model, "on", options, seed);
        expect_same(&kept, &plain);
        cr_expect_eq(kept.swapped, plain.swapped);
        weights_free(&kept.weights);
    }
    weights_free(&plain.weights);
    return kept;
}

/* The first step warms up; recording it puts its kernels once more for each slot of the data. */
Test(recorded, all_but_the_first_step, .timeout = 300) {
    result kept = expect_no_difference("mlp", OPTIONS("batch", "16", "micro-batches", "4", "steps", "6"));
    cr_expect_eq(kept.recordings, 2);
    cr_expect_eq(kept.repetitions, 5);
    cr_expect_gt(kept.kernels[0], 0);
    for (int i = 1; i < kept.steps; ++i) cr_expect_eq(kept.kernels[i], 0, "step %d puts kernels on streams", i + 1);
}

/* Random numbers of a step are no other ones for being repeated. */
Test(recorded, dropout_and_clipping, .timeout = 600) {
    result kept = expect_no_difference(
        "gpt_tied", OPTIONS("dropout", "0.3", "batch", "8", "micro-batches", "2", "steps", "5", "clip-norm", "0.5"));
    cr_expect_eq(kept.repetitions, 4);
    for (int i = 1; i < kept.steps; ++i)
        cr_expect(kept.losses[i] != kept.losses[i - 1], "losses of steps %d and %d", i, i + 1);
}

/* An epoch's last step has one whole micro-batch and one of two samples; validation runs every other step. */
Test(recorded, short_last_batches, .timeout = 600) {
    result kept = expect_no_difference("mlp", OPTIONS("rows", "0:30", "batch", "12", "micro-batches", "3", "epochs",
                                                      "4", "val-rows", "30:40", "val-every", "2"));
    cr_expect_eq(kept.steps, 12);
    for (int step = 5; step < 12; step += 2) cr_expect_eq(kept.kernels[step - 1], 0, "step %d", step);
    cr_expect_eq(kept.recordings, 6);
}

/* `percent`: of the memory of a run that keeps everything. */
static void expect_eviction(const char *precision, const char *strategy, int percent) {
    run r = run_golden("gpt_tied");
    ons_trainer_status status;
    char cap[32];
    set(&r, "device", "cuda");
    set(&r, "batch", "8");
    set(&r, "micro-batches", "2");
    set(&r, "optimizer", "adamw");
    set(&r, "precision", precision);
    set(&r, "steps", "1");
    run_open(&r);
    must(ons_trainer_get_status(r.trainer, &status));
    run_close(&r);
    snprintf(cap, sizeof cap, "%lld", FAR_SLACK + (long long)status.predicted_bytes * percent / 100);
    result kept =
        expect_no_difference("gpt_tied", OPTIONS("batch", "8", "micro-batches", "2", "steps", "4", "precision",
                                                 precision, "memory", cap, "memory-strategy", strategy));
    cr_expect_eq(kept.repetitions, 3);
    cr_expect(strcmp(strategy, "capuchin") != 0 || kept.swapped > 0);
}

Test(recorded, swap, .timeout = 600) { expect_eviction("fp32", "capuchin", 90); }

Test(recorded, recompute, .timeout = 600) { expect_eviction("fp32", "recompute-all", 90); }

Test(recorded, swap_in_bf16, .timeout = 600) { expect_eviction("bf16", "capuchin", 95); }

Test(recorded, recompute_in_bf16, .timeout = 600) { expect_eviction("bf16", "recompute-all", 95); }

/* Half types: casts once a step, products joined with what is beside them, filters that are laid out anew. */
Test(recorded, models_in_bf16, .timeout = 600) {
    static const char *const models[] = {"mlp", "gpt_decomposed", "cnn_dynamic"};
    for (size_t i = 0; i < sizeof models / sizeof models[0]; ++i) {
        result kept = expect_no_difference(
            models[i], OPTIONS("batch", "8", "micro-batches", "2", "steps", "4", "precision", "bf16"));
        cr_expect_eq(kept.repetitions, 3);
    }
}

/* The host takes what comes from another stage, so nothing is recorded. */
Test(recorded, stages_on_one_gpu_are_not, .timeout = 600) {
    result kept =
        expect_no_difference("mlp", OPTIONS("batch", "16", "micro-batches", "4", "steps", "4", "stages", "2"));
    cr_expect_eq(kept.recordings, 0);
}

Test(recorded, refused, .timeout = 300) {
    const char *const *options = OPTIONS("batch", "16", "micro-batches", "4", "steps", "4");
    result plain = train("mlp", "off", options, 1);
    discrete_refuse_recordings(true);
    result refused = train("mlp", "", options, 1);
    expect_same(&refused, &plain);
    cr_expect_eq(refused.repetitions, 0);
    weights_free(&plain.weights);
    weights_free(&refused.weights);
    setenv("ONSTAGE_CUDA_GRAPHS", "on", 1);
    run r = run_golden("mlp");
    ons_step_report report;
    set(&r, "device", "cuda");
    set(&r, "steps", "4");
    run_open(&r);
    must_fail(ons_trainer_step(r.trainer, &report), ONS_UNSUPPORTED, "record", NULL);
    run_close(&r);
}

enum { RESERVE = 1 << 20 };

/* A cap that an arena, the reserve and the slack just fit under, and recordings of so many bytes each. */
static void prepare_cap(int64_t each, char cap[static 32]) {
    ons_trainer_status status;
    discrete_reserve(RESERVE);
    discrete_recording_takes(each);
    run r = run_golden("mlp");
    set(&r, "device", "cuda");
    set(&r, "batch", "16");
    set(&r, "micro-batches", "4");
    run_open(&r);
    must(ons_trainer_get_status(r.trainer, &status));
    run_close(&r);
    snprintf(cap, 32, "%lld", (long long)status.predicted_bytes + RESERVE + FAR_SLACK);
}

/* Of two recordings those that fit stay. */
static void expect_kept(int64_t each, int64_t recordings, int64_t repetitions) {
    char cap[32];
    result plain = train("mlp", "off", OPTIONS("batch", "16", "micro-batches", "4", "steps", "5"), 1);
    prepare_cap(each, cap);
    result capped = train("mlp", "", OPTIONS("batch", "16", "micro-batches", "4", "steps", "5", "memory", cap), 1);
    expect_same(&capped, &plain);
    cr_expect_eq(capped.recordings, recordings, "%lld recordings", (long long)capped.recordings);
    cr_expect_eq(capped.repetitions, repetitions, "%lld repetitions", (long long)capped.repetitions);
    weights_free(&capped.weights);
    weights_free(&plain.weights);
    discrete_recording_takes(0);
    discrete_reserve(0);
}

Test(recorded, both_fit_into_the_slack, .timeout = 600) { expect_kept(FAR_SLACK / 2, 2, 4); }

Test(recorded, the_last_one_is_given_up, .timeout = 600) { expect_kept(FAR_SLACK / 2 + 64, 2, 2); }

Test(recorded, none_fits, .timeout = 600) { expect_kept(FAR_SLACK + 64, 1, 0); }

Test(recorded, what_is_given_up_is_told, .timeout = 300) {
    char cap[32];
    ons_trainer_status status;
    prepare_cap(FAR_SLACK / 2 + 64, cap);
    unsetenv("ONSTAGE_CUDA_GRAPHS");
    run r = run_golden("mlp");
    set(&r, "device", "cuda");
    set(&r, "batch", "16");
    set(&r, "micro-batches", "4");
    set(&r, "steps", "4");
    set(&r, "memory", cap);
    run_open(&r);
    ons_step_report first = run_step(&r);
    cr_assert_not_null(first.warning);
    cr_expect(strstr(first.warning, "not all steps") != NULL && strstr(first.warning, cap) != NULL, "%s",
              first.warning);
    must(ons_trainer_get_status(r.trainer, &status));
    cr_expect(strstr(status.notes, cap) != NULL, "%s", status.notes);
    run_close(&r);
}

/* Where recordings are asked for, that is an error. */
Test(recorded, not_beyond_the_cap, .timeout = 600) {
    ons_step_report report;
    char cap[32];
    prepare_cap(FAR_SLACK / 2 + 64, cap);
    setenv("ONSTAGE_CUDA_GRAPHS", "on", 1);
    run r = run_golden("mlp");
    set(&r, "device", "cuda");
    set(&r, "batch", "16");
    set(&r, "micro-batches", "4");
    set(&r, "steps", "4");
    set(&r, "memory", cap);
    run_open(&r);
    must_fail(ons_trainer_step(r.trainer, &report), ONS_OUT_OF_MEMORY, "--memory", cap, "CUDA graphs", NULL);
    run_close(&r);
}
