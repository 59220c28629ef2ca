/* Replicas on far devices: several on one GPU, and with a GPU each over a library in NCCL's place. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/transport/nccl_api.h"
#include "tests/far/far_device.h"
#include "tests/nccl/far_nccl.h"
#include "tests/training/fixture.h"
#include "tests/training/wrong_label.h"

enum { STEPS = 3 };

static const fake_nccl *fake;

static void use_fake(int gpus) { fake = far_nccl_use(gpus); }

static void expect_no_complaint(void) { cr_expect_null(far_nccl_complaint(), "%s", far_nccl_complaint()); }

/* -------------------------------------------------------------------------------------------------------------
 * training
 */

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
static result train(const char *model, const char *const *options, const char *const *more, uint64_t seed) {
    result found = {0};
    ons_trainer_status status;
    far_seed(seed);
    run r = prepare(model, options, more);
    run_open(&r);
    must(ons_trainer_get_status(r.trainer, &status));
    cr_expect_eq(status.arena_bytes, status.predicted_bytes, "%s: %lld bytes are planned, %lld taken", model,
                 (long long)status.predicted_bytes, (long long)status.arena_bytes);
    int64_t allocations = 0, connections = fake->counts().connections, before = fake->counts().messages;
    for (int i = 0; i < STEPS; ++i) {
        ons_step_report report = run_step(&r);
        found.losses[i] = report.loss;
        found.norms[i] = report.grad_norm;
        if (i == 0) allocations = far_get_counts().allocations;
    }
    cr_expect_eq(far_get_counts().allocations, allocations);
    cr_expect_eq(fake->counts().connections, connections, "a pair was connected after the start");
    found.messages = fake->counts().messages - before;
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
