/* Updates, sums over micro-batches and sums of squares that read gradients in the half type in which products made them
 * (graph/passes/low_gradients.h), against casts to float32 in front of them: the same bits of losses, norms, weights.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "graph/passes/low_gradients.h"
#include "tests/fake_gpu/discrete_memory/discrete_device.h"
#include "tests/rooms/training/fixture.h"

/* The linker puts it in front of the pass, which can then be left out. */
static bool casts;
void __real_ons_read_low_gradients(ons_graph *graph, const ons_registry *registry);  /* NOLINT */
void __wrap_ons_read_low_gradients(ons_graph *graph, const ons_registry *registry);  /* NOLINT */
void __wrap_ons_read_low_gradients(ons_graph *graph, const ons_registry *registry) { /* NOLINT */
    if (!casts) __real_ons_read_low_gradients(graph, registry);
}

enum { STEPS = 2 };

typedef struct result {
    weights weights;
    double losses[STEPS], norms[STEPS];
    int64_t kernels; /* of all steps */
} result;

#define OPTIONS(...) ((const char *const[]){__VA_ARGS__, NULL})

static result train(const char *model, const char *const *options, bool with_casts) {
    result found = {.kernels = 0};
    casts = with_casts;
    run r = run_golden(model);
    set(&r, "device", "cuda");
    set(&r, "optimizer", "adamw");
    set(&r, "lr", "0.01");
    set(&r, "precision", "bf16");
    set_number(&r, "steps", STEPS);
    for (; *options != NULL; options += 2) set(&r, options[0], options[1]);
    run_open(&r);
    int64_t before = discrete_get_counts().kernels;
    for (int i = 0; i < STEPS; ++i) {
        ons_step_report report = run_step(&r);
        found.losses[i] = report.loss;
        found.norms[i] = report.grad_norm;
    }
    found.kernels = discrete_get_counts().kernels - before;
    found.weights = read_weights(&r);
    run_close(&r);
    return found;
}

static void expect_bits(const char *model, const char *const *options) {
    result should = train(model, options, true), is = train(model, options, false);
    for (int i = 0; i < STEPS; ++i) {
        cr_expect(is.losses[i] == should.losses[i], "%s: loss of step %d is %.9g instead of %.9g", model, i + 1,
                  is.losses[i], should.losses[i]);
        bool none = isnan(is.norms[i]) && isnan(should.norms[i]); /* nobody wants it */
        cr_expect(none || is.norms[i] == should.norms[i], "%s: norm of step %d is %.9g instead of %.9g", model, i + 1,
                  is.norms[i], should.norms[i]);
    }
    cr_expect(weights_equal(&is.weights, &should.weights), "%s: the weights differ", model);
    cr_expect_lt(is.kernels, should.kernels, "%s: no cast has gone", model);
    weights_free(&is.weights);
    weights_free(&should.weights);
}

/* Updates write the half weights, too, or the next step casts them. */
Test(low_gradients, of_every_optimizer, .timeout = 600) {
    static const char *const optimizers[] = {"sgd", "adam", "adamw", "adagrad", "rmsprop"};
    for (size_t i = 0; i < sizeof optimizers / sizeof *optimizers; ++i)
        expect_bits("mlp", OPTIONS("batch", "16", "optimizer", optimizers[i]));
    cr_assert_eq(setenv("ONSTAGE_HALF_WEIGHTS", "off", 1), 0);
    expect_bits("mlp", OPTIONS("batch", "16"));
}

/* What is added up over micro-batches is float32. */
Test(low_gradients, of_micro_batches, .timeout = 600) {
    expect_bits("mlp", OPTIONS("batch", "16", "micro-batches", "4"));
    expect_bits("mlp", OPTIONS("batch", "16", "micro-batches", "4", "stages", "2"));
}

/* Of which the sum of squares decides about the update. */
Test(low_gradients, that_are_clipped, .timeout = 600) {
    expect_bits("mlp", OPTIONS("batch", "16", "clip-norm", "0.1"));
    expect_bits("mlp", OPTIONS("batch", "16", "clip-norm", "0.1", "precision", "fp16", "loss-scale", "256"));
}

Test(low_gradients, of_a_transformer_and_filters, .timeout = 600) {
    expect_bits("gpt_tied", OPTIONS("batch", "2"));
    expect_bits("cnn_dynamic", OPTIONS("batch", "4"));
}
