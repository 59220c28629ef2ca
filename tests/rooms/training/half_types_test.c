/* Models in half types: masters are counted, every way of dividing a run has the same bits, and the file gets its own
 * types back. The losses are compared with PyTorch's in tests/agreement/reports/half_types. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "graph/arena_layout.h"
#include "tests/rooms/training/fixture.h"

#define CASES "tests/agreement/reports/half_types/"

enum { STEPS = 6 };

typedef struct kind {
    const char *name, *input, *options;
} kind;

enum { WORDS, LAYERS, TIED, STATISTICS, KINDS };
static const kind kinds[KINDS] = {
    [WORDS] = {"fp16_adam", "ids", ""},
    [LAYERS] = {"bf16_adamw", "x", ""},
    [TIED] = {"bf16_tied", "ids", ""},
    [STATISTICS] = {"fp16_running_statistics", "x", "batchnorm train"},
};

/* "NAME VALUE NAME VALUE …" */
static void set_all(const run *r, const char *options) {
    char text[PATH_BYTES], *rest = text;
    snprintf(text, sizeof text, "%s", options);
    for (char *name; (name = strtok_r(rest, " ", &rest)) != NULL;) set(r, name, strtok_r(rest, " ", &rest));
}

static run new_run(const kind *k, const char *options) {
    run r = {.config = NULL};
    char text[PATH_BYTES];
    must(ons_config_new(&r.config));
    snprintf(r.model_path, sizeof r.model_path, CASES "%s/model.onnx", k->name);
    snprintf(text, sizeof text, "%s=" CASES "%s/%s.npy", k->input, k->name, k->input);
    set(&r, "input", text);
    snprintf(text, sizeof text, CASES "%s/y.npy", k->name);
    set(&r, "target", text);
    set_all(&r, "loss cross_entropy optimizer adamw lr 0.01 batch 8 threads 1");
    set_number(&r, "steps", STEPS);
    set_all(&r, k->options);
    set_all(&r, options);
    return r;
}

static ons_trainer_status status_of(const run *r) {
    ons_trainer_status status;
    must(ons_trainer_get_status(r->trainer, &status));
    return status;
}

static long long relieved; /* values that were copied or made again, of all runs */

/* What the run has trained, and what it reports of its memory. */
static weights train(const kind *k, const char *options, ons_trainer_status *status) {
    run r = new_run(k, options);
    run_open(&r);
    *status = status_of(&r);
    cr_expect_eq(status->arena_bytes, status->predicted_bytes, "%s %s", k->name, options);
    for (int64_t i = 0; i < ons_trainer_stage_count(r.trainer); ++i) {
        ons_stage_report stage;
        must(ons_trainer_get_stage(r.trainer, i, &stage));
        cr_expect(stage.planned_bytes == stage.arena_bytes && stage.arena_bytes == stage.taken_bytes,
                  "%s %s: stage %lld is planned with %lld bytes and takes %lld", k->name, options, (long long)i,
                  (long long)stage.planned_bytes, (long long)stage.taken_bytes);
        relieved += stage.swapped_values + stage.recomputed_values;
    }
    while (!ons_trainer_done(r.trainer)) run_step(&r);
    weights w = read_weights(&r);
    run_close(&r);
    return w;
}

static void expect_same_bits(const kind *k, const char *one, const char *other) {
    ons_trainer_status status;
    weights left = train(k, one, &status), right = train(k, other, &status);
    cr_expect(weights_equal(&left, &right), "%s: '%s' and '%s' train other weights", k->name, one, other);
    weights_free(&left);
    weights_free(&right);
}

Test(half_types, any_number_of_stages_has_the_same_bits) {
    for (int i = 0; i < KINDS; ++i) {
        expect_same_bits(&kinds[i], "micro-batches 2", "micro-batches 2 stages 2");
        expect_same_bits(&kinds[i], "micro-batches 4", "micro-batches 4 stages 3 pipeline gpipe");
    }
}

#define CAPPED "batch 32 micro-batches 4 pipeline gpipe stages 2"

/* Options with the least cap, that a refusal names. */
static const char *least_memory(const kind *k, char options[PATH_BYTES]) {
    run r = new_run(k, CAPPED " memory 100");
    ons_status *status = run_try_open(&r);
    cr_assert_eq(ons_status_get_code(status), ONS_OUT_OF_MEMORY, "%s", ons_status_get_message(status));
    const char *least = strstr(ons_status_get_message(status), "too little: ");
    cr_assert_not_null(least, "%s", ons_status_get_message(status));
    snprintf(options, PATH_BYTES, "%s memory %lld", CAPPED, strtoll(least + strlen("too little: "), NULL, 10));
    ons_status_free(status);
    run_close(&r);
    return options;
}

Test(half_types, recomputed_and_swapped_values_have_the_same_bits) {
    char text[PATH_BYTES];
    long long before = relieved;
    for (int i = 0; i < KINDS; ++i) {
        expect_same_bits(&kinds[i], "micro-batches 2", "micro-batches 2 stages 2 memory-strategy recompute-all");
        expect_same_bits(&kinds[i], CAPPED, least_memory(&kinds[i], text));
    }
    cr_expect_gt(relieved, before, "no cap took anything away");
}

Test(half_types, replicas_that_shard_the_optimizer_have_the_bits_of_those_that_do_not) {
    expect_same_bits(&kinds[LAYERS], "replicas 2", "replicas 2 shard-optimizer true");
    expect_same_bits(&kinds[WORDS], "replicas 2 clip-norm 0.1", "replicas 2 clip-norm 0.1 shard-optimizer true");
    expect_same_bits(&kinds[TIED], "replicas 2 stages 2", "replicas 2 stages 2 shard-optimizer true");
}

Test(half_types, asynchronous_updates_keep_versions_of_masters) {
    ons_trainer_status status;
    weights w = train(&kinds[LAYERS], "stages 2 micro-batches 4 pipeline pipedream-async", &status);
    for (size_t i = 0; i < w.count; ++i) cr_assert(w.values[i] == w.values[i] && w.values[i] < 100);
    weights_free(&w);
}

/* first.weight is [12, 16], first.bias [16]. */
Test(half_types, a_frozen_weight_has_neither_master_nor_state) {
    int64_t weight = 12 * 16, bias = 16;
    ons_trainer_status all, frozen;
    weights a = train(&kinds[LAYERS], "", &all), b = train(&kinds[LAYERS], "freeze first.*", &frozen);
    int64_t single = ons_arena_align(weight * 4) + ons_arena_align(bias * 4);
    cr_expect_eq(all.parameter_bytes - frozen.parameter_bytes,
                 single - ons_arena_align(weight * 2) - ons_arena_align(bias * 2));
    cr_expect_eq(all.state_bytes - frozen.state_bytes, 2 * single, "two moments of each, in float32");
    weights_free(&a);
    weights_free(&b);
}

static void save(const kind *k, const char *options, const char *path) {
    run r = new_run(k, options);
    run_open(&r);
    while (!ons_trainer_done(r.trainer)) run_step(&r);
    must(ons_trainer_save(r.trainer, path));
    run_close(&r);
}

Test(half_types, an_unchanged_master_leaves_the_file_as_it_was) {
    char path[PATH_BYTES], model[PATH_BYTES];
    scratch_path(path, "unchanged.onnx");
    const kind *const each[] = {&kinds[WORDS], &kinds[LAYERS], &kinds[TIED]};
    for (int i = 0; i < 3; ++i) {
        save(each[i], "optimizer sgd lr 0", path);
        snprintf(model, sizeof model, CASES "%s/model.onnx", each[i]->name);
        cr_expect(same_contents(path, model), "%s", each[i]->name);
    }
    unlink(path);
}

static double validate(const kind *k, const char *options, const char *model) {
    ons_evaluation evaluation;
    run r = new_run(k, options);
    must(ons_model_load(model, r.config, &r.model));
    must(ons_model_evaluate(r.model, r.config, NULL, NULL, &evaluation));
    double loss = evaluation.loss;
    run_close(&r);
    return loss;
}

/* A validation reads masters rounded, so it sees the model that is written. */
Test(half_types, a_validation_sees_what_is_written) {
    char path[PATH_BYTES], text[PATH_BYTES];
    scratch_path(path, "validated.onnx");
    for (int i = 0; i < KINDS; ++i) {
        const kind *k = &kinds[i];
        ons_evaluation validated;
        run r = new_run(k, "");
        snprintf(text, sizeof text, "%s=" CASES "%s/%s.npy", k->input, k->name, k->input);
        set(&r, "val-input", text);
        snprintf(text, sizeof text, CASES "%s/y.npy", k->name);
        set(&r, "val-target", text);
        run_open(&r);
        while (!ons_trainer_done(r.trainer)) run_step(&r);
        must(ons_trainer_evaluate(r.trainer, &validated));
        must(ons_trainer_save(r.trainer, path));
        run_close(&r);
        double written = validate(k, "", path);
        cr_expect_eq(validated.loss, written, "%s: %.9g in the run, %.9g of the file", k->name, validated.loss,
                     written);
    }
    unlink(path);
}

/* eval --checkpoint takes masters for weights of the file's type. */
Test(half_types, a_checkpoint_evaluates_as_the_written_model) {
    char folder[PATH_BYTES], path[PATH_BYTES], options[2 * PATH_BYTES], command[PATH_BYTES + 16];
    scratch_path(folder, "kept");
    scratch_path(path, "evaluated.onnx");
    snprintf(options, sizeof options, "checkpoint %s", folder);
    for (int i = 0; i < KINDS; ++i) {
        save(&kinds[i], "", path);
        run r = new_run(&kinds[i], options);
        run_open(&r);
        while (!ons_trainer_done(r.trainer)) run_step(&r);
        must(ons_trainer_finish(r.trainer));
        char model[PATH_BYTES];
        snprintf(model, sizeof model, "%s", r.model_path);
        run_close(&r);
        cr_expect_eq(validate(&kinds[i], "", path), validate(&kinds[i], options, model), "%s", kinds[i].name);
        snprintf(command, sizeof command, "rm -r '%s'", folder);
        cr_assert_eq(system(command), 0);
    }
    unlink(path);
}
