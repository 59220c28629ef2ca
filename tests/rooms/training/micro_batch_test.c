/* --micro-batches changes the memory, not the loss nor the gradient. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/rooms/training/fixture.h"

enum { WEIGHTS_MAX = 64, STEPS_MAX = 8 };
static const double tolerance = 1e-6;

typedef struct outcome {
    double losses[STEPS_MAX];
    double norm[STEPS_MAX]; /* of all gradients */
    double norms[STEPS_MAX][WEIGHTS_MAX];
    int weight_count;
    long long transient_bytes;
} outcome;

typedef struct setting {
    const char *model;
    const array *input, *target; /* NULL: the golden data */
    const char *input_name;
    int batch, steps;
    const char *ties[4]; /* A=B */
    bool convolutions;
    const char *loss; /* NULL: golden.json's */
} setting;

/* The learning rate is as good as zero, so that every step looks at the same weights: what is compared is one gradient,
 * and not how a difference of one rounding grows from step to step. */
static outcome train(const setting *s, int micro_batches) {
    outcome o = {.weight_count = 0};
    char log[PATH_BYTES];
    scratch_path(log, "micro.jsonl");
    run r = s->input == NULL ? run_golden(s->model) : run_without_data(s->model);
    if (s->input != NULL) {
        must(ons_config_array(r.config, s->input_name, false, &s->input->view));
        must(ons_config_array(r.config, "target", false, &s->target->view));
    }
    if (s->loss != NULL) set(&r, "loss", s->loss);
    for (int i = 0; i < 4 && s->ties[i] != NULL; ++i) set(&r, "tie", s->ties[i]);
    set_number(&r, "batch", s->batch);
    set_number(&r, "micro-batches", micro_batches);
    set_number(&r, "steps", s->steps);
    set(&r, "optimizer", "sgd");
    set(&r, "lr", "1e-30");
    set(&r, "log-json", log);
    set(&r, "log-grad-norms", "true");
    set(&r, "threads", "1");
    run_open(&r);
    for (int i = 0; i < s->steps; ++i) o.losses[i] = run_step(&r).loss;
    ons_trainer_status status;
    must(ons_trainer_get_status(r.trainer, &status));
    o.transient_bytes = (long long)status.transient_bytes;
    cr_assert_eq(status.micro_batches, micro_batches);
    run_close(&r);
    log_lines lines = read_log(log);
    cr_assert_eq(lines.count, (size_t)s->steps);
    for (int i = 0; i < s->steps; ++i) {
        const cJSON *norm;
        o.weight_count = 0;
        o.norm[i] = log_number(&lines, (size_t)i, "grad_norm");
        cJSON_ArrayForEach(norm, ons_json_find(lines.items[i], "grad_norms")) {
            cr_assert_lt(o.weight_count, WEIGHTS_MAX);
            o.norms[i][o.weight_count++] = norm->valuedouble;
        }
    }
    log_free(&lines);
    unlink(log);
    return o;
}

/* Relative to the weight's own norm; with convolutions, whose library sums thousands of float32 products in an order
 * that depends on the batch, relative to the norm of the whole gradient. */
static void check_close(const setting *s, int parts, const outcome *is, const outcome *should) {
    cr_assert_eq(is->weight_count, should->weight_count);
    cr_assert_gt(is->weight_count, 0);
    for (int i = 0; i < s->steps; ++i) {
        cr_assert(fabs(is->losses[i] - should->losses[i]) <= tolerance * fabs(should->losses[i]),
                  "%s in %d parts: loss of step %d is %.9g, in one part %.9g", s->model, parts, i + 1, is->losses[i],
                  should->losses[i]);
        cr_assert(fabs(is->norm[i] - should->norm[i]) <= tolerance * should->norm[i],
                  "%s in %d parts: gradient norm of step %d is %.9g, in one part %.9g", s->model, parts, i + 1,
                  is->norm[i], should->norm[i]);
        for (int k = 0; k < is->weight_count; ++k)
            cr_assert(fabs(is->norms[i][k] - should->norms[i][k]) <=
                          tolerance * (s->convolutions ? should->norm[i] : should->norms[i][k]),
                      "%s in %d parts: gradient norm %d of step %d is %.9g, in one part %.9g", s->model, parts, k,
                      i + 1, is->norms[i][k], should->norms[i][k]);
    }
}

static void compare(const setting *s, bool shrinks) {
    outcome whole = train(s, 1);
    long long before = whole.transient_bytes;
    for (int parts = 2; parts <= 4; parts *= 2) {
        outcome split = train(s, parts);
        check_close(s, parts, &split, &whole);
        if (shrinks)
            cr_assert_lt(split.transient_bytes, before, "%s: %d parts need %lld bytes, fewer parts %lld", s->model,
                         parts, split.transient_bytes, before);
        before = split.transient_bytes;
    }
}

/* A random model, reproducible. */
static uint64_t next_random(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* The golden arrays, but for `rows` samples only. */
static void read_data(const char *model, int64_t rows, array *input, array *target) {
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "tests/agreement/golden/%s/input.npy", model);
    *input = read_npy(path);
    snprintf(path, sizeof path, "tests/agreement/golden/%s/target.npy", model);
    *target = read_npy(path);
    cr_assert_geq(input->dims[0], rows);
    input->dims[0] = target->dims[0] = rows;
    input->view.dims = input->dims;
    target->view.dims = target->dims;
}

Test(micro_batch, mlp) { compare(&(setting){.model = "mlp", .batch = 16, .steps = 3}, true); }

Test(micro_batch, convolutions) {
    compare(&(setting){.model = "lenet", .batch = 16, .steps = 3, .convolutions = true}, true);
    compare(&(setting){.model = "dynamo_cnn", .batch = 8, .steps = 3, .convolutions = true}, true);
}

Test(micro_batch, transformer) { compare(&(setting){.model = "dynamo_gpt", .batch = 8, .steps = 3}, true); }

/* The gradient of one weight is gathered from several uses. */
Test(micro_batch, tied_weights) {
    compare(&(setting){.model = "gpt_decomposed",
                       .batch = 8,
                       .steps = 3,
                       .ties = {"blocks.0.up.bias=blocks.1.up.bias", "onnx::MatMul_340=onnx::MatMul_327",
                                "blocks.0.ln1.weight=ln.weight"}},
            true);
}

/* 22 = 16 + 6: in two parts 8, 8, 6; in four 4, 4, 4, 4, 4, 2. */
Test(micro_batch, short_last_batch) {
    array input, target;
    read_data("mlp", 22, &input, &target);
    compare(&(setting){"mlp", &input, &target, "x", 16, 4, {NULL}, false, NULL}, true);
    array_free(&input);
    array_free(&target);
    read_data("dynamo_gpt", 13, &input, &target);
    compare(&(setting){"dynamo_gpt", &input, &target, "tokens", 8, 4, {NULL}, false, NULL}, true);
    array_free(&input);
    array_free(&target);
}

/* Most targets of the first half are ignored, none of the last quarter. */
static void ignore_unevenly(array *target) {
    uint64_t state = 11;
    int64_t count = (int64_t)(target->bytes / sizeof(int64_t));
    int64_t *classes = target->data;
    for (int64_t i = 0; i < count; ++i)
        if ((i < count / 2 && next_random(&state) % 16 != 0) || (i < count * 3 / 4 && next_random(&state) % 2 == 0))
            classes[i] = -100;
    classes[0] = 1;
}

Test(micro_batch, ignored_targets_of_tokens) {
    array input, target;
    read_data("dynamo_gpt", 8, &input, &target);
    target.bytes = (size_t)(8 * target.dims[1]) * sizeof(int64_t);
    ignore_unevenly(&target);
    compare(&(setting){"dynamo_gpt", &input, &target, "tokens", 8, 2, {NULL}, false, NULL}, true);
    array_free(&input);
    array_free(&target);
}

/* Targets that are values: all of them count. The last batch is short. */
Test(micro_batch, other_losses) {
    static const char *const losses[] = {"mse", "l1", "huber", "bce_with_logits"};
    static float values[22 * 10];
    uint64_t state = 5;
    for (size_t i = 0; i < sizeof values / sizeof values[0]; ++i)
        values[i] = (float)(next_random(&state) % 1000) / 1000;
    array input, target;
    read_data("mlp", 22, &input, &target);
    target.dims[1] = 10;
    target.view = (ons_array_view){ONS_ELEMENT_FLOAT32, 2, target.dims, values};
    for (size_t i = 0; i < sizeof losses / sizeof losses[0]; ++i)
        compare(&(setting){"mlp", &input, &target, "x", 16, 4, {NULL}, false, losses[i]}, true);
    array_free(&input);
    array_free(&target);
}

/* A batch of two parts is the mean of both: of a model whose file fixes the batch and ties embedding and output. */
Test(micro_batch, parts_of_a_fixed_batch) {
    weights after[3], before;
    for (int k = 0; k < 3; ++k) {
        run r = run_golden("gpt_tied");
        set(&r, "optimizer", "sgd");
        set(&r, "lr", "1");
        set(&r, "steps", "1");
        set(&r, "threads", "1");
        set(&r, "rows", k == 0 ? "0:8" : k == 1 ? "0:4" : "4:8");
        set(&r, "batch", k == 0 ? "8" : "4");
        run_open(&r);
        if (k == 0) before = read_weights(&r);
        run_step(&r);
        after[k] = read_weights(&r);
        run_close(&r);
    }
    double difference = 0, total = 0;
    for (size_t i = 0; i < before.count; ++i) {
        double whole = (double)after[0].values[i] - before.values[i];
        double mean = 0.5 * ((double)after[1].values[i] + after[2].values[i]) - before.values[i];
        difference += (whole - mean) * (whole - mean);
        total += mean * mean;
    }
    cr_assert_gt(total, 0);
    cr_assert_lt(sqrt(difference), tolerance * sqrt(total) + 6e-8 * sqrt((double)before.count), "%g of %g",
                 sqrt(difference), sqrt(total));
    for (int k = 0; k < 3; ++k) weights_free(&after[k]);
    weights_free(&before);
}

/* Whole micro-batches without a target that counts, and a short last batch. */
Test(micro_batch, ignored_targets_of_samples) {
    array input, target;
    read_data("mlp", 23, &input, &target);
    for (int64_t i = 0; i < 7; ++i) ((int64_t *)target.data)[i] = -100;
    ((int64_t *)target.data)[17] = -100;
    compare(&(setting){"mlp", &input, &target, "x", 16, 4, {NULL}, false, NULL}, true);
    array_free(&input);
    array_free(&target);
}
