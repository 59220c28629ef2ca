/* Files in half types on a device whose memory the host cannot touch: the host widens masters on the way there, updates
 * write the half weights that nodes read, and the bits are those of casts when a step begins. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/fake_gpu/discrete_memory/discrete_device.h"
#include "tests/rooms/training/fixture.h"

#define CASES "tests/agreement/reports/half_types/"

enum { STEPS = 4 };

typedef struct result {
    weights weights;
    double losses[STEPS];
    int64_t kernels;
} result;

static run prepare(const char *name, const char *input, const char *parts, const char *stages) {
    run r = {.config = NULL};
    char target[PATH_BYTES], data[PATH_BYTES];
    must(ons_config_new(&r.config));
    snprintf(r.model_path, sizeof r.model_path, CASES "%s/model.onnx", name);
    snprintf(target, sizeof target, CASES "%s/y.npy", name);
    snprintf(data, sizeof data, "%s=" CASES "%s/%s.npy", input, name, input);
    set(&r, "input", data);
    set(&r, "target", target);
    set(&r, "loss", "cross_entropy");
    set(&r, "device", "cuda");
    set(&r, "optimizer", "adamw");
    set(&r, "lr", "0.01");
    set(&r, "batch", "8");
    set(&r, "threads", "1");
    set(&r, "micro-batches", parts);
    set(&r, "stages", stages);
    set_number(&r, "steps", STEPS);
    return r;
}

static result train(const char *name, const char *input, const char *parts, const char *stages, bool casts) {
    result found;
    ons_trainer_status status;
    discrete_seed(1);
    if (casts) cr_assert_eq(setenv("ONSTAGE_HALF_WEIGHTS", "off", 1), 0);
    run r = prepare(name, input, parts, stages);
    run_open(&r);
    cr_assert_eq(unsetenv("ONSTAGE_HALF_WEIGHTS"), 0);
    must(ons_trainer_get_status(r.trainer, &status));
    cr_expect_eq(status.arena_bytes, status.predicted_bytes, "%s: %lld bytes are planned, %lld taken", name,
                 (long long)status.predicted_bytes, (long long)status.arena_bytes);
    int64_t before = discrete_get_counts().kernels;
    for (int i = 0; i < STEPS; ++i) found.losses[i] = run_step(&r).loss;
    found.kernels = discrete_get_counts().kernels - before;
    found.weights = read_weights(&r);
    run_close(&r);
    return found;
}

static void expect_bits(const char *name, const char *input, const char *parts, const char *stages) {
    result casts = train(name, input, parts, stages, true), halves = train(name, input, parts, stages, false);
    for (int i = 0; i < STEPS; ++i) cr_expect(casts.losses[i] == halves.losses[i], "%s: step %d", name, i + 1);
    cr_expect(weights_equal(&casts.weights, &halves.weights), "%s in %s stages: the weights differ", name, stages);
    cr_expect_lt(halves.kernels, casts.kernels, "%s: updates write no half weights", name);
    weights_free(&casts.weights);
    weights_free(&halves.weights);
}

Test(half_types, updates_write_what_casts_would, .timeout = 300) {
    expect_bits("bf16_adamw", "x", "1", "1");
    expect_bits("bf16_adamw", "x", "2", "2");
    expect_bits("fp16_running_statistics", "x", "1", "1");
}

/* Frozen weights have neither. */
Test(half_types, a_written_model_is_read_back, .timeout = 300) {
    char path[PATH_BYTES], model[PATH_BYTES];
    scratch_path(path, "out.onnx");
    run r = prepare("bf16_adamw", "x", "1", "1");
    set(&r, "optimizer", "sgd");
    set(&r, "lr", "0");
    set(&r, "freeze", "head.*");
    run_open(&r);
    while (!ons_trainer_done(r.trainer)) run_step(&r);
    must(ons_trainer_save(r.trainer, path));
    snprintf(model, sizeof model, "%s", r.model_path);
    run_close(&r);
    cr_expect(same_contents(path, model));
    unlink(path);
}
