/* The arena that is taken is the one that was predicted; a cap holds, or is refused up front. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <inttypes.h>
#include <stdio.h>

#include "tests/rooms/training/fixture.h"

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

/* What the refusal of a cap that is far too small names. */
static int64_t least_memory(const setting *param) {
    run r = prepare(param);
    set_number(&r, "memory", 1);
    ons_status *status = run_try_open(&r);
    cr_assert(status != NULL && ons_status_get_code(status) == ONS_OUT_OF_MEMORY);
    const char *text = strstr(ons_status_get_message(status), "too little: ");
    cr_assert(text != NULL, "%s", ons_status_get_message(status));
    int64_t least = strtoll(text + strlen("too little: "), NULL, 10);
    ons_status_free(status);
    run_close(&r);
    return least;
}

enum { STEPS_MOST = 64 };

ParameterizedTest(setting *param, memory, arena) {
    run r = prepare(param);
    run_open(&r);
    ons_trainer_status first = status_of(&r);
    check_layout(param->model, &first);
    cr_assert_geq(first.parameter_bytes, first.trainable_elements * 4);
    cr_assert_geq(first.state_bytes, first.trainable_elements * 8, "two moments a weight");
    double losses[STEPS_MOST];
    for (int i = 0; !ons_trainer_done(r.trainer); ++i) {
        cr_assert_lt(i, STEPS_MOST);
        ons_step_report report = run_step(&r);
        cr_assert_eq(report.memory_peak_bytes, first.predicted_bytes);
        losses[i] = report.loss;
    }
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

    int64_t least = least_memory(param);
    cr_assert_leq(least, first.predicted_bytes);
    run tight = prepare(param);
    set_number(&tight, "memory", least);
    run_open(&tight);
    cr_assert_leq(status_of(&tight).arena_bytes, least);
    for (int i = 0; !ons_trainer_done(tight.trainer); ++i) {
        double loss = run_step(&tight).loss;
        cr_assert_eq(loss, losses[i], "%s in %" PRId64 " bytes: loss %.17g of step %d, with more memory %.17g",
                     param->model, least, loss, i + 1, losses[i]);
    }
    run_close(&tight);
}
