/* The arena that is taken is the one that was predicted; a cap holds, or is refused up front. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <inttypes.h>
#include <stdio.h>

#include "tests/training/fixture.h"

typedef struct setting {
    char model[32];
    int micro_batches; /* times the batch of golden.json, where the file fixes that */
    int64_t rows;      /* 0: all; else so many that the last batch is short */
} setting;

ParameterizedTestParameters(memory, arena) {
    static setting settings[] = {
        {"mlp", 1, 0},         {"mlp_frozen", 1, 0}, {"lenet", 1, 0},    {"resnet18", 1, 0},
        {"cnn_dynamic", 1, 0}, {"dynamo_cnn", 1, 0}, {"gpt_tied", 1, 0}, {"gpt_decomposed", 1, 0},
        {"dynamo_gpt", 1, 0},  {"mlp", 4, 0},        {"lenet", 2, 0},    {"dynamo_gpt", 2, 0},
        {"mlp", 2, 21},        {"dynamo_gpt", 1, 7},
    };
    return cr_make_param_array(setting, settings, sizeof settings / sizeof settings[0], NULL);
}

static run prepare(const setting *s) {
    run r = run_golden(s->model);
    set(&r, "optimizer", "adamw");
    set_number(&r, "micro-batches", s->micro_batches);
    set(&r, "steps", "3");
    if (s->rows > 0) {
        char rows[32];
        snprintf(rows, sizeof rows, "0:%" PRId64, s->rows);
        set(&r, "rows", rows);
    }
    return r;
}

static ons_trainer_status status_of(const run *r) {
    ons_trainer_status status;
    must(ons_trainer_get_status(r->trainer, &status));
    return status;
}

static void check_layout(const char *model, const ons_trainer_status *s) {
    cr_assert_eq(s->arena_bytes, s->predicted_bytes, "%s: %" PRId64 " bytes are taken, %" PRId64 " were predicted",
                 model, s->arena_bytes, s->predicted_bytes);
    cr_assert_eq(s->predicted_bytes,
                 s->parameter_bytes + s->state_bytes + s->buffer_bytes + s->constant_bytes + s->transient_bytes);
    cr_assert_geq(s->transient_bytes, s->transient_lower_bound);
    cr_assert_leq((double)s->transient_bytes, 1.15 * (double)s->transient_lower_bound,
                  "%s: %" PRId64 " bytes, %" PRId64 " are alive at once", model, s->transient_bytes,
                  s->transient_lower_bound);
}

ParameterizedTest(setting *param, memory, arena) {
    run r = prepare(param);
    run_open(&r);
    ons_trainer_status first = status_of(&r);
    check_layout(param->model, &first);
    cr_assert_geq(first.parameter_bytes, first.trainable_elements * 4);
    cr_assert_geq(first.state_bytes, first.trainable_elements * 8, "two moments a weight");
    while (!ons_trainer_done(r.trainer)) cr_assert_eq(run_step(&r).memory_peak_bytes, first.predicted_bytes);
    ons_trainer_status last = status_of(&r);
    cr_assert_eq(last.arena_bytes, first.arena_bytes, "training has taken more");
    cr_assert_gt(last.resident_bytes, last.arena_bytes / 2);
    run_close(&r);

    char needed[32];
    snprintf(needed, sizeof needed, "%" PRId64, first.predicted_bytes);
    run exact = prepare(param);
    set(&exact, "memory", needed);
    run_open(&exact);
    run_step(&exact);
    run_close(&exact);

    run tight = prepare(param);
    set_number(&tight, "memory", first.predicted_bytes - 1);
    must_fail(run_try_open(&tight), ONS_OUT_OF_MEMORY, needed, param->model, "--memory", NULL);
    cr_assert_null(tight.trainer);
    run_close(&tight);
}
