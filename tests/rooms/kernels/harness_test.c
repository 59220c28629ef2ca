/* The harness itself: copies of a sound operator with one thing broken each, of which every one must be found out. */
#include <criterion/criterion.h>
#include <math.h>

#include "graph/small_types.h"
#include "kernels/common/operator/kernel.h"
#include "kernels/kernels.h"
#include "kernels/operators.h"
#include "tests/rooms/kernels/harness.h"

/* An operator of one float input that the tests break, with its cases and kernels. */
typedef struct subject {
    ons_operator op;
    const ons_case *cases;
    ons_kernel_list list;
} subject;

static subject sound_operator(void) {
    static const ons_case cases[] = {
        {.name = "matrix", .inputs = {ONS_F32(5, 7)}, .tolerance = 1e-6, .flops = 35},
        {.name = NULL},
    };
    const ons_backend *cpu = ons_backend_find("cpu");
    return (subject){ons_op_relu, cases, *cpu->find(cpu, &ons_op_relu)};
}

/* A backend that has the subject's kernels, and the CPU's for every other operator. */
static const subject *tried;

static const ons_kernel_list *find_tried(const ons_backend *backend, const ons_operator *op) {
    (void)backend;
    const ons_backend *cpu = ons_backend_find("cpu");
    return op == &tried->op ? &tried->list : cpu->find(cpu, op);
}

static const ons_backend *trying_backend(void) {
    static ons_backend backend;
    backend = *ons_backend_find("cpu");
    backend.find = find_tried;
    return &backend;
}

static ons_target target_of(const subject *s) {
    tried = s;
    ons_target target = ons_target_cpu;
    target.backend = trying_backend;
    return target;
}

static ons_status *check(const subject *s) {
    const ons_registry *registry = ons_kernels_registry();
    const ons_target target = target_of(s);
    ONS_TRY(ons_check_descriptor(&s->op, s->cases));
    ONS_TRY(ons_check_kernel_list(target.backend(), &s->op));
    ONS_TRY(ons_check_shapes(registry, &s->op, s->cases, 1));
    ONS_TRY(ons_check_kernel(registry, &s->op, s->cases, &target, 1, 1));
    ONS_TRY(ons_check_gradient(registry, &s->op, s->cases, 1));
    return ons_check_saved(registry, &s->op, s->cases, 1);
}

/* One kernel in place of the operator's own; it lasts until the next one is set. */
static void set_kernel(subject *s, ons_prepare_function *prepare, ons_run_function *run) {
    static ons_kernel kernel;
    kernel = (ons_kernel)ONS_KERNEL(prepare, run);
    s->list = (ons_kernel_list){&kernel, 1, NULL};
}

static void expect_found(const subject *s, const char *words) {
    ons_status *status = check(s);
    cr_expect(status != NULL && strstr(ons_status_get_message(status), words) != NULL, "expected '%s', got '%s'", words,
              ons_status_get_message(status));
    ons_status_free(status);
}

Test(harness, passes_a_sound_operator) {
    subject s = sound_operator();
    ons_status *status = check(&s);
    cr_expect(status == NULL, "%s", ons_status_get_message(status));
    ons_status_free(status);
}

/* ---- half types */

static ons_half check_half_on(const ons_target *target, const subject *s, ons_dtype dtype, const char *words) {
    ons_half outcome;
    ons_status *status = ons_check_half(ons_kernels_registry(), &s->op, s->cases, target, dtype, 1, &outcome);
    bool found = words != NULL && status != NULL && strstr(ons_status_get_message(status), words) != NULL;
    cr_expect(words == NULL ? status == NULL : found, "expected '%s', got '%s'", words, ons_status_get_message(status));
    ons_status_free(status);
    return outcome;
}

static ons_half check_half(const subject *s, ons_dtype dtype, const char *words) {
    const ons_target target = target_of(s);
    return check_half_on(&target, s, dtype, words);
}

Test(harness, runs_cases_in_half_types) {
    subject s = sound_operator();
    cr_expect_eq(check_half(&s, ONS_BFLOAT16, NULL), ONS_HALF_CHECKED);
    cr_expect_eq(check_half(&s, ONS_FLOAT16, NULL), ONS_HALF_CHECKED);
    s.op.roles.traits |= ONS_TRAIT_FULL_PRECISION;
    cr_expect_eq(check_half(&s, ONS_BFLOAT16, NULL), ONS_HALF_NOT_MEANT);
}

Test(harness, leaves_out_what_a_half_type_cannot_hold) {
    static const ons_case cases[] = {
        {.name = "large",
         .inputs = {{.dtype = ONS_FLOAT32, .shape = ONS_DIMS(2), .value_count = 2, .values = {1, 1e5}}},
         .tolerance = 1e-6},
        {.name = NULL},
    };
    subject s = sound_operator();
    s.cases = cases;
    cr_expect_eq(check_half(&s, ONS_FLOAT16, NULL), ONS_HALF_OVERFLOWS);
    cr_expect_eq(check_half(&s, ONS_BFLOAT16, NULL), ONS_HALF_CHECKED);
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

static ons_status *refuse_type(ons_prepare *p) { return ons_node_error(p->operands, "not in this type"); }

static const ons_backend *backend_without_fallbacks(void) {
    static ons_backend backend;
    backend = *trying_backend();
    backend.fallbacks = NULL;
    return &backend;
}

Test(harness, finds_kernels_that_are_wrong_in_half_types) {
    subject s = sound_operator();
    set_kernel(&s, prepare_nothing, run_coarse);
    check_half(&s, ONS_BFLOAT16, "matrix in bfloat16, cpu kernel: output 0");
    set_kernel(&s, prepare_nothing, run_nan);
    check_half(&s, ONS_BFLOAT16, "is nan");
    /* A backend without fallbacks that need not take every type takes these: a graph of this precision has the node so.
     */
    set_kernel(&s, refuse_type, run_coarse);
    ons_target refusing = target_of(&s);
    refusing.backend = backend_without_fallbacks;
    refusing.may_refuse = true;
    check_half_on(&refusing, &s, ONS_BFLOAT16, "not in this type");
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
    subject s = sound_operator();
    set_kernel(&s, ons_prepare_nothing, run);
    expect_found(&s, words);
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
    subject s = sound_operator();
    set_kernel(&s, prepare_refusal, run_right);
    expect_found(&s, "not today");
    set_kernel(&s, prepare_scratch, run_beyond_scratch);
    expect_found(&s, "of scratch 0");
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
    subject s = sound_operator();
    s.op.gradient.build = gradient_of_nothing;
    expect_found(&s, "makes no gradient");
    s.op.gradient.build = gradient_unchanged;
    expect_found(&s, "finite differences");
    s.op.gradient.build = gradient_without_cotangent;
    expect_found(&s, "finite differences");
}

Test(harness, finds_wrong_saves) {
    subject s = sound_operator();
    s.op.saved = (ons_saved)ONS_SAVES(ONS_INPUT_BIT(0), ONS_INPUT_BIT(0));
    expect_found(&s, "inputs by the mask 0x0");
    s.op.saved = (ons_saved)ONS_SAVES_NOTHING;
    expect_found(&s, "outputs by the mask 0x1");
}

/* ---- descriptors */

static ons_cost wrong_cost(const ons_operands *o) { return (ons_cost){36, 0}; }

Test(harness, finds_broken_descriptors) {
    static const ons_case none[] = {{.name = NULL}};
    static const ons_case benchmarks[] = {{.name = "large", .inputs = {ONS_F32(9)}, .benchmark = true}, {.name = NULL}};
    subject s = sound_operator();
    s.op.cost = wrong_cost;
    expect_found(&s, "36 flops");
    s = sound_operator();
    s.cases = none;
    expect_found(&s, "no cases");
    s.cases = benchmarks;
    expect_found(&s, "every case is a benchmark");
    s = sound_operator();
    s.list = (ons_kernel_list){NULL, 0, ""};
    expect_found(&s, "no cpu kernel and no reason");
    s = sound_operator();
    s.op.opset.last = 99;
    expect_found(&s, "opset range");
    s = sound_operator();
    s.op.gradient = (ons_gradient_rule)ONS_NOT_DIFFERENTIABLE("");
    expect_found(&s, "no reason");
}

Test(harness, finds_two_of_one_name) {
    subject s = sound_operator();
    const ons_operator *both[] = {&s.op, &ons_op_relu};
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
