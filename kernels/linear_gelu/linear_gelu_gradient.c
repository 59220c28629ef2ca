/* The gradient that a fully connected layer hands back, through the Gelu by the formula with tanh that stands before
 * the layer: (dy op(w)) · gelu′(x). Inputs: dy, w, x, which has as many elements as the result. A pass makes it for
 * GPUs (graph/passes/fuse_gemm.h). */
#include "kernels/gelu/gelu_formulas.h"
#include "kernels/linear/fully_connected.h"

static ons_status *linear_gelu_gradient_infer(ons_operands *o) {
    ons_gemm_form form = ons_linear_form(o);
    ons_gemm_sizes sizes;
    ons_shape result;
    if (o->inputs[0].shape.rank < 2 || o->inputs[1].shape.rank != 2)
        return ons_node_error(o, "the weight and each cotangent must be matrices");
    ONS_TRY(ons_gemm_resolve(o, &o->inputs[0].shape, &o->inputs[1].shape, &form, &sizes, &result));
    if (ons_elements(&o->inputs[2]) != ons_shape_elements(&result))
        return ons_node_error(o, "what went into Gelu has other elements than its gradient");
    o->outputs[0] = ons_type_make(o->inputs[0].dtype, result);
    return NULL;
}

static void linear_gelu_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                           void *const *outputs) {
    ons_gemm_form form = ons_linear_form(o);
    const double *x = inputs[2];
    double *dx = outputs[0];
    ons_gemm_reference(o, &o->inputs[0].shape, &o->inputs[1].shape, &form, inputs[0], inputs[1], dx);
    for (int64_t i = 0, count = ons_elements(&o->outputs[0]); i < count; ++i) dx[i] *= ons_gelu_tanh_slope(x[i]);
}

ONS_DEFINE_OPERATOR(linear_gelu_gradient, "LinearGeluGradient", ONS_INTERNAL, ONS_ARITY(3, 3, 1, 1),
                    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("transpose", 0)), ONS_INFER(linear_gelu_gradient_infer),
                    ONS_COST(ons_linear_cost), ONS_NOT_DIFFERENTIABLE("it is itself a gradient"), ONS_SAVES_NOTHING,
                    ONS_DENSE_OPERATOR, ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(linear_gelu_gradient_reference));
