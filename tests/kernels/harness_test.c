/* The harness itself: copies of a sound operator with one thing broken each, of which every one must be found out. */
#include <criterion/criterion.h>
#include <math.h>

#include "graph/small_types.h"
#include "kernels/common/kernel.h"
#include "kernels/registry.h"
#include "tests/kernels/harness.h"

static ons_status *check(const ons_operator *op) {
    const ons_registry *registry = ons_kernels_registry();
    ONS_TRY(ons_check_descriptor(op));
    ONS_TRY(ons_check_shapes(registry, op, op->cases, 1));
    ONS_TRY(ons_check_kernel(registry, op, op->cases, &ons_backend_cpu, 1, 1));
    ONS_TRY(ons_check_gradient(registry, op, op->cases, 1));
    return ons_check_saved(registry, op, 1);
}

/* An operator of one float input that the tests break. */
static ons_operator sound_operator(void) {
    static const ons_case cases[] = {
        {.name = "matrix", .inputs = {ONS_F32(5, 7)}, .tolerance = 1e-6, .flops = 35},
        {.name = NULL},
    };
    ons_operator op = ons_op_relu;
    op.cases = cases;
    return op;
}

static void expect_found(const ons_operator *op, const char *words) {
    ons_status *status = check(op);
    cr_expect(status != NULL && strstr(ons_status_get_message(status), words) != NULL, "expected '%s', got '%s'", words,
              ons_status_get_message(status));
    ons_status_free(status);
}

Test(harness, passes_a_sound_operator) {
    ons_operator op = sound_operator();
    ons_status *status = check(&op);
    cr_expect(status == NULL, "%s", ons_status_get_message(status));
    ons_status_free(status);
}

/* ---- half types */

static ons_half check_half_on(const ons_backend *backend, const ons_operator *op, ons_dtype dtype, const char *words) {
    ons_half outcome;
    ons_status *status = ons_check_half(ons_kernels_registry(), op, op->cases, backend, dtype, 1, &outcome);
    bool found = words != NULL && status != NULL && strstr(ons_status_get_message(status), words) != NULL;
    cr_expect(words == NULL ? status == NULL : found, "expected '%s', got '%s'", words, ons_status_get_message(status));
    ons_status_free(status);
    return outcome;
}

static ons_half check_half(const ons_operator *op, ons_dtype dtype, const char *words) {
    return check_half_on(&ons_backend_cpu, op, dtype, words);
}

Test(harness, runs_cases_in_half_types) {
    ons_operator op = sound_operator();
    cr_expect_eq(check_half(&op, ONS_BFLOAT16, NULL), ONS_HALF_CHECKED);
    cr_expect_eq(check_half(&op, ONS_FLOAT16, NULL), ONS_HALF_CHECKED);
    op.roles.traits |= ONS_TRAIT_FULL_PRECISION;
    cr_expect_eq(check_half(&op, ONS_BFLOAT16, NULL), ONS_HALF_NOT_MEANT);
}

Test(harness, leaves_out_what_a_half_type_cannot_hold) {
    static const ons_case cases[] = {
        {.name = "large",
         .inputs = {{.dtype = ONS_FLOAT32, .shape = ONS_DIMS(2), .value_count = 2, .values = {1, 1e5}}},
         .tolerance = 1e-6},
        {.name = NULL},
    };
    ons_operator op = sound_operator();
    op.cases = cases;
    cr_expect_eq(check_half(&op, ONS_FLOAT16, NULL), ONS_HALF_OVERFLOWS);
    cr_expect_eq(check_half(&op, ONS_BFLOAT16, NULL), ONS_HALF_CHECKED);
}

static void run_coarse(const ons_launch *launch) { /* off by three roundoffs of bfloat16 */
    const uint16_t *in = launch->inputs[0];
    uint16_t *out = launch->outputs[0];
    for (int i = 0; i < 35; ++i)
        out[i] = ons_float_to_bfloat16(fmaxf(ons_bfloat16_to_float(in[i]), 0) + (i == 34 ? 3 * 0x1p-8f : 0));
}

static void run_nan(const ons_launch *launch) {
    run_coarse(launch);
    ((uint16_t *)launch->outputs[0])[34] = 0x7fc0;
}

static ons_status *prepare_nothing(ons_prepare *p) {
    (void)p;
    return NULL;
}

static ons_status *refuse_type(ons_prepare *p, ons_run_function **run) {
    (void)run;
    return ons_node_error(p->operands, "not in this type");
}

Test(harness, finds_kernels_that_are_wrong_in_half_types) {
    ons_operator op = sound_operator();
    op.cpu.prepare = prepare_nothing;
    op.cpu.run = run_coarse;
    check_half(&op, ONS_BFLOAT16, "matrix in bfloat16, cpu kernel: output 0");
    op.cpu.run = run_nan;
    check_half(&op, ONS_BFLOAT16, "is nan");
    ons_backend refusing = ons_backend_cpu;
    refusing.may_refuse = true;
    refusing.prepare = refuse_type;
    check_half_on(&refusing, &op, ONS_BFLOAT16, "not in this type");
}

/* ---- kernels */

static void run_forgetful(const ons_launch *launch) {
    const float *in = launch->inputs[0];
    float *out = launch->outputs[0];
    for (int i = 0; i < 34; ++i) out[i] = fmaxf(in[i], 0);
}

static void run_right(const ons_launch *launch) {
    run_forgetful(launch);
    ((float *)launch->outputs[0])[34] = fmaxf(((const float *)launch->inputs[0])[34], 0);
}

static void run_too_far(const ons_launch *launch) {
    run_right(launch);
    ((float *)launch->outputs[0])[35] = 1;
}

static void run_before_start(const ons_launch *launch) {
    run_right(launch);
    ((float *)launch->outputs[0])[-1] = 1;
}

static void run_wrong(const ons_launch *launch) {
    run_right(launch);
    ((float *)launch->outputs[0])[3] += 1e-4f;
}

static void run_changes_input(const ons_launch *launch) {
    run_right(launch);
    ((float *)(uintptr_t)launch->inputs[0])[0] += 1;
}

static void run_differently(const ons_launch *launch) {
    static int runs;
    run_right(launch);
    ((float *)launch->outputs[0])[3] += 1e-7f * (float)(runs++ % 2);
}

/* Reads what it has overwritten when the result takes the input's place. */
static void run_out_of_place(const ons_launch *launch) {
    const float *in = launch->inputs[0];
    float *out = launch->outputs[0];
    for (int i = 0; i < 35; ++i) out[i] = 0;
    for (int i = 0; i < 35; ++i) out[i] = fmaxf(in[i], 0);
}

static void run_with_fault(const ons_launch *launch) {
    run_right(launch);
    launch->fault->problem = "invented";
}

static void expect_kernel_found(ons_run_function *run, const char *words) {
    ons_operator op = sound_operator();
    op.cpu = (ons_kernel)ONS_CPU_KERNEL(ons_prepare_nothing, run);
    expect_found(&op, words);
}

Test(harness, finds_broken_kernels) {
    expect_kernel_found(run_forgetful, "nan, the reference says");
    expect_kernel_found(run_too_far, "the kernel wrote at byte 140 of output 0");
    expect_kernel_found(run_before_start, "before output 0");
    expect_kernel_found(run_wrong, "element 3");
    expect_kernel_found(run_changes_input, "changed input 0");
    expect_kernel_found(run_differently, "second run");
    expect_kernel_found(run_out_of_place, "in an input's place");
    expect_kernel_found(run_with_fault, "invented");
}

static ons_status *prepare_refusal(ons_prepare *p) { return ons_node_error(p->operands, "not today"); }

static ons_status *prepare_scratch(ons_prepare *p) {
    p->scratch_bytes = 64;
    return NULL;
}

static void run_beyond_scratch(const ons_launch *launch) {
    run_right(launch);
    ((char *)launch->scratch)[64] = 1;
}

Test(harness, finds_broken_preparation) {
    ons_operator op = sound_operator();
    op.cpu = (ons_kernel)ONS_CPU_KERNEL(prepare_refusal, run_right);
    expect_found(&op, "not today");
    op.cpu = (ons_kernel)ONS_CPU_KERNEL(prepare_scratch, run_beyond_scratch);
    expect_found(&op, "of scratch 0");
}

/* ---- gradients */

static ons_status *gradient_of_nothing(ons_gradient *g) { return NULL; }

static ons_status *gradient_unchanged(ons_gradient *g) {
    g->gradients[0] = g->cotangents[0];
    return NULL;
}

/* What a test by the sum of the outputs would let pass: the cotangents are all taken for one. */
static ons_status *gradient_without_cotangent(ons_gradient *g) {
    ons_value_id output = ons_gradient_output(g, 0);
    ons_value_id zero = ons_build(g->builder, &ons_op_sub, ONS_IN(g->cotangents[0], g->cotangents[0]), ONS_DEFAULTS);
    ons_value_id one = ons_build_scalar(g->builder, ONS_FLOAT32, 1);
    ons_value_id ones = ons_build(g->builder, &ons_op_add, ONS_IN(zero, one), ONS_DEFAULTS);
    g->gradients[0] = ons_build(g->builder, &ons_op_relu_gradient, ONS_IN(ones, output), ONS_DEFAULTS);
    return NULL;
}

Test(harness, finds_broken_gradients) {
    ons_operator op = sound_operator();
    op.gradient.build = gradient_of_nothing;
    expect_found(&op, "makes no gradient");
    op.gradient.build = gradient_unchanged;
    expect_found(&op, "finite differences");
    op.gradient.build = gradient_without_cotangent;
    expect_found(&op, "finite differences");
}

Test(harness, finds_wrong_saves) {
    ons_operator op = sound_operator();
    op.saved = (ons_saved)ONS_SAVES(ONS_INPUT_BIT(0), ONS_INPUT_BIT(0));
    expect_found(&op, "inputs by the mask 0x0");
    op.saved = (ons_saved)ONS_SAVES_NOTHING;
    expect_found(&op, "outputs by the mask 0x1");
}

/* ---- descriptors */

static ons_cost wrong_cost(const ons_operands *o) { return (ons_cost){36, 0}; }

Test(harness, finds_broken_descriptors) {
    static const ons_case none[] = {{.name = NULL}};
    static const ons_case benchmarks[] = {{.name = "large", .inputs = {ONS_F32(9)}, .benchmark = true}, {.name = NULL}};
    ons_operator op = sound_operator();
    op.cost = wrong_cost;
    expect_found(&op, "36 flops");
    op = sound_operator();
    op.cases = none;
    expect_found(&op, "no cases");
    op.cases = benchmarks;
    expect_found(&op, "every case is a benchmark");
    op = sound_operator();
    op.cuda.why_not = "";
    expect_found(&op, "no CUDA kernel and no reason");
    op = sound_operator();
    op.opset.last = 99;
    expect_found(&op, "opset range");
    op = sound_operator();
    op.gradient = (ons_gradient_rule)ONS_NOT_DIFFERENTIABLE("");
    expect_found(&op, "no reason");
}

Test(harness, finds_two_of_one_name) {
    ons_operator op = sound_operator();
    const ons_operator *both[] = {&op, &ons_op_relu};
    ons_registry registry = *ons_kernels_registry();
    registry.operators = both;
    registry.count = 2;
    ons_status *status = ons_check_registry(&registry);
    cr_expect(status != NULL && strstr(ons_status_get_message(status), "two operators are called Relu") != NULL);
    ons_status_free(status);
}

Test(harness, compares_nan_and_infinity) {
    ons_type type = ons_type_make(ONS_FLOAT32, (ons_shape){1, {1}});
    const struct {
        float got;
        double reference;
        bool agree;
    } pairs[] = {
        {NAN, 1, false},      {1, NAN, false},         {NAN, NAN, true},     {INFINITY, INFINITY, true},
        {INFINITY, 1, false}, {INFINITY, 1e300, true}, {1, INFINITY, false}, {-INFINITY, INFINITY, false},
        {1.0f, 1.05, true},   {1.0f, 1.2, false},      {0.0f, -0.0, true},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; ++i) {
        ons_status *status = ons_compare(&type, &pairs[i].got, &pairs[i].reference, 0.1);
        cr_expect((status == NULL) == pairs[i].agree, "%g against %g", (double)pairs[i].got, pairs[i].reference);
        ons_status_free(status);
    }
}
