/* Linear with Gelu behind it, by the formula with tanh, as libraries for GPUs compute both in one go. A pass makes it
 * for those (graph/passes/fuse_products.h). Output 1 is what goes into Gelu, which its gradient reads.
 *
 * `keeps`: output 1 is part of the computation also where it is left out, as it is where the node runs again for its
 * result alone: the same way, so the same bits. */
#include "kernels/common/cuda_epilogue.h"
#include "kernels/common/gelu.h"
#include "kernels/common/linear.h"

enum { TRANSPOSE, KEEPS };

static ons_cost linear_gelu_cost(const ons_operands *o) {
    ons_cost cost = ons_linear_cost(o);
    return (ons_cost){cost.flops + (double)ons_elements(&o->outputs[0]), cost.bytes};
}

static void linear_gelu_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                  void *const *outputs) {
    (void)step;
    double *y = outputs[0], *kept = o->output_count > 1 ? outputs[1] : NULL;
    ons_linear_reference(o, inputs, y);
    for (int64_t i = 0, count = ons_elements(&o->outputs[0]); i < count; ++i) {
        if (kept != NULL) kept[i] = y[i];
        y[i] = ons_gelu_tanh(y[i]);
    }
}

typedef struct linear_gelu_state {
    ons_product product; /* first: it is what destroy gets */
    int64_t elements;
} linear_gelu_state;

static ons_status *linear_gelu_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ONS_TRY(ons_require_float32(o));
    ons_product_form form = ons_linear_form(o);
    void *memory;
    ONS_TRY(ons_prepare_state(p, sizeof(linear_gelu_state), &memory));
    linear_gelu_state *state = memory;
    state->elements = ons_elements(&o->outputs[0]);
    return ons_product_prepare(p, &o->inputs[0].shape, &o->inputs[1].shape, &form, true, false, &state->product);
}

static void linear_gelu_run(const ons_launch *launch) {
    const linear_gelu_state *state = launch->state;
    float *y = launch->outputs[0], *before = launch->outputs[1] != NULL ? launch->outputs[1] : y;
    ons_product_run(&state->product, launch->inputs[0], launch->inputs[1], launch->inputs[2], 0, before, launch);
    int64_t n = state->elements;
#pragma omp parallel for simd schedule(static) if (n > ONS_PARALLEL_GRAIN)
    for (int64_t i = 0; i < n; ++i) y[i] = ons_gelu_by_sigmoid(before[i]);
}

static ons_status *linear_gelu_cuda_prepare(ons_prepare *p) {
    ons_product_form form = ons_linear_form(p->operands);
    bool keeps = ons_attribute_int(p->operands, KEEPS) != 0 || ons_has_output(p->operands, 1);
    return ons_cuda_linear_gelu_prepare(p, &form, keeps);
}

static ons_status *linear_gelu_gradient_rule(ons_gradient *g) {
    ons_value_id sum = g->cotangents[1];
    if (g->cotangents[0] != ONS_NONE) {
        ons_value_id through =
            ons_build(g->builder, &ons_op_gelu_gradient, ONS_IN(g->cotangents[0], ons_gradient_output(g, 1)),
                      ONS_WITH(ONS_AT_STRING(0, "tanh")));
        sum = sum == ONS_NONE ? through : ons_build(g->builder, &ons_op_add, ONS_IN(through, sum), ONS_DEFAULTS);
    }
    return ons_linear_gradient(g, sum);
}

static const ons_case linear_gelu_cases[] = {
    {.name = "matrix",
     .inputs = {ONS_F32(5, 7), ONS_F32(7, 8), ONS_F32(8)},
     .outputs = 2,
     .tolerance = 1e-5,
     .flops = 640},
    {.name = "tokens",
     .inputs = {ONS_F32(2, 3, 5), ONS_F32(5, 16), ONS_F32(16)},
     .settings = {ONS_SET_INT("keeps", 1)},
     .outputs = 2,
     .tolerance = 1e-5,
     .flops = 1152},
    {.name = "transposed",
     .inputs = {ONS_F32(2, 3, 5), ONS_F32(8, 5), ONS_F32(8)},
     .settings = {ONS_SET_INT("transpose", 1)},
     .outputs = 2,
     .tolerance = 1e-5,
     .flops = 576},
    {.name = "alone", .inputs = {ONS_F32(4, 6), ONS_F32(6, 8), ONS_F32(8)}, .tolerance = 1e-5, .flops = 448},
    {.name = "kept_for_nobody",
     .inputs = {ONS_F32(4, 6), ONS_F32(6, 8), ONS_F32(8)},
     .settings = {ONS_SET_INT("keeps", 1)},
     .tolerance = 1e-5,
     .flops = 448},
    {.name = "odd",
     .inputs = {ONS_F32(5, 7), ONS_F32(7, 3), ONS_F32(3)},
     .outputs = 2,
     .tolerance = 1e-5,
     .flops = 240},
    {.name = "odd_alone",
     .inputs = {ONS_F32(5, 7), ONS_F32(7, 3), ONS_F32(3)},
     .settings = {ONS_SET_INT("keeps", 1)},
     .tolerance = 1e-5,
     .flops = 240},
    {.name = "far",
     .inputs = {ONS_F32_IN(-9, 9, 4, 3), ONS_F32(3, 8), ONS_F32(8)},
     .outputs = 2,
     .tolerance = 1e-5,
     .flops = 256},
    {.name = "empty",
     .inputs = {ONS_F32(2, 0), ONS_F32(0, 8), ONS_F32(8)},
     .outputs = 2,
     .tolerance = 1e-6,
     .flops = 32},
    {.name = "no_rows", .inputs = {ONS_F32(0, 3), ONS_F32(3, 8), ONS_F32(8)}, .outputs = 2, .flops = 0},
    {.name = "gpt_mlp",
     .inputs = {ONS_F32(16, 128, 128), ONS_F32(128, 512), ONS_F32(512)},
     .outputs = 2,
     .tolerance = 1e-5,
     .flops = 270532608,
     .benchmark = true},
    {.name = "bias_too_long", .inputs = {ONS_F32(5, 7), ONS_F32(7, 3), ONS_F32(4)}, .error = "bias"},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(linear_gelu, "LinearGelu", ONS_INTERNAL, ONS_ARITY(3, 3, 1, 2),
                    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("transpose", 0), ONS_INT_ATTRIBUTE("keeps", 0)),
                    ONS_INFER(ons_linear_infer), ONS_COST(linear_gelu_cost),
                    ONS_GRADIENT_RULE(linear_gelu_gradient_rule, ONS_ALL_INPUTS),
                    ONS_SAVES(ONS_INPUT_BIT(0) | ONS_INPUT_BIT(1), 2), ONS_DENSE_OPERATOR, ONS_NO_ALIASES,
                    ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(linear_gelu_reference),
                    ONS_CPU_KERNEL(linear_gelu_prepare, linear_gelu_run),
                    ONS_CUDA_KERNEL(linear_gelu_cuda_prepare, ons_cuda_linear_gelu), linear_gelu_cases);
