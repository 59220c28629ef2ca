/* The gradient that a fully connected layer hands back, through the Gelu by the formula with tanh that stands before
 * the layer: (dy op(w)) · gelu′(x). Inputs: dy, w, x, which has as many elements as the result. A pass makes it for
 * GPUs (graph/passes/fuse_products.h). */
#include "kernels/common/cuda_epilogue.h"
#include "kernels/common/gelu.h"
#include "kernels/common/linear.h"

static ons_status *linear_gelu_gradient_infer(ons_operands *o) {
    ons_product_form form = ons_linear_form(o);
    ons_product_sizes sizes;
    ons_shape result;
    if (o->inputs[0].shape.rank < 2 || o->inputs[1].shape.rank != 2)
        return ons_node_error(o, "the weight and each cotangent must be matrices");
    ONS_TRY(ons_product_resolve(o, &o->inputs[0].shape, &o->inputs[1].shape, &form, &sizes, &result));
    if (ons_elements(&o->inputs[2]) != ons_shape_elements(&result))
        return ons_node_error(o, "what went into Gelu has other elements than its gradient");
    o->outputs[0] = ons_type_make(o->inputs[0].dtype, result);
    return NULL;
}

static void linear_gelu_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                           void *const *outputs) {
    (void)step;
    ons_product_form form = ons_linear_form(o);
    const double *x = inputs[2];
    double *dx = outputs[0];
    ons_product_reference(o, &o->inputs[0].shape, &o->inputs[1].shape, &form, inputs[0], inputs[1], dx);
    for (int64_t i = 0, count = ons_elements(&o->outputs[0]); i < count; ++i) dx[i] *= ons_gelu_tanh_slope(x[i]);
}

typedef struct linear_gelu_gradient_state {
    ons_product product; /* first: it is what destroy gets */
    int64_t elements;
} linear_gelu_gradient_state;

static ons_status *linear_gelu_gradient_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ONS_TRY(ons_require_float32(o));
    ons_product_form form = ons_linear_form(o);
    void *memory;
    ONS_TRY(ons_prepare_state(p, sizeof(linear_gelu_gradient_state), &memory));
    linear_gelu_gradient_state *state = memory;
    state->elements = ons_elements(&o->outputs[0]);
    return ons_product_prepare(p, &o->inputs[0].shape, &o->inputs[1].shape, &form, false, false, &state->product);
}

static void linear_gelu_gradient_run(const ons_launch *launch) {
    const linear_gelu_gradient_state *state = launch->state;
    const float *x = launch->inputs[2];
    float *dx = launch->outputs[0];
    ons_product_run(&state->product, launch->inputs[0], launch->inputs[1], NULL, 0, dx, launch);
    int64_t n = state->elements;
#pragma omp parallel for simd schedule(static) if (n > ONS_PARALLEL_GRAIN)
    for (int64_t i = 0; i < n; ++i) dx[i] *= ons_gelu_slope_by_sigmoid(x[i]);
}

static ons_status *linear_gelu_gradient_cuda_prepare(ons_prepare *p) {
    ons_product_form form = ons_linear_form(p->operands);
    return ons_cuda_linear_gelu_gradient_prepare(p, &form);
}

static const ons_case linear_gelu_gradient_cases[] = {
    {.name = "matrix",
     .inputs = {ONS_F32(5, 7), ONS_F32(7, 8), ONS_F32_IN(-4, 4, 5, 8)},
     .tolerance = 1e-5,
     .flops = 600},
    {.name = "tokens",
     .inputs = {ONS_F32(2, 3, 5), ONS_F32(16, 5), ONS_F32_IN(-4, 4, 6, 16)},
     .settings = {ONS_SET_INT("transpose", 1)},
     .tolerance = 1e-5,
     .flops = 1056},
    {.name = "odd",
     .inputs = {ONS_F32(2, 3, 5), ONS_F32(3, 5), ONS_F32_IN(-4, 4, 2, 3, 3)},
     .settings = {ONS_SET_INT("transpose", 1)},
     .tolerance = 1e-5,
     .flops = 198},
    {.name = "far",
     .inputs =
         {ONS_F32(3, 4),
          ONS_F32(4, 8),
          {.dtype = ONS_FLOAT32, .shape = ONS_DIMS(3, 8), .value_count = 6, .values = {0, 1e20, -1e20, 6, -6, 1e-30}}},
     .tolerance = 1e-5,
     .flops = 216},
    {.name = "empty", .inputs = {ONS_F32(2, 0), ONS_F32(0, 8), ONS_F32(2, 8)}, .flops = 16},
    {.name = "no_rows", .inputs = {ONS_F32(0, 3), ONS_F32(3, 8), ONS_F32(0, 8)}, .flops = 0},
    {.name = "gpt_mlp",
     .inputs = {ONS_F32(16, 128, 128), ONS_F32(512, 128), ONS_F32_IN(-3, 3, 16, 128, 512)},
     .settings = {ONS_SET_INT("transpose", 1)},
     .tolerance = 1e-5,
     .flops = 269484032,
     .benchmark = true},
    {.name = "misfit", .inputs = {ONS_F32(5, 7), ONS_F32(7, 8), ONS_F32(5, 7)}, .error = "elements"},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(linear_gelu_gradient, "LinearGeluGradient", ONS_INTERNAL, ONS_ARITY(3, 3, 1, 1),
                    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("transpose", 0)), ONS_INFER(linear_gelu_gradient_infer),
                    ONS_COST(ons_linear_cost), ONS_NOT_DIFFERENTIABLE("it is itself a gradient"), ONS_SAVES_NOTHING,
                    ONS_DENSE_OPERATOR, ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(linear_gelu_gradient_reference),
                    ONS_CPU_KERNEL(linear_gelu_gradient_prepare, linear_gelu_gradient_run),
                    ONS_CUDA_KERNEL(linear_gelu_gradient_cuda_prepare, ons_cuda_linear_gelu_gradient),
                    linear_gelu_gradient_cases);
