/* Gradient of PRelu's data: from cotangent, data and slope, the cotangent, times the slope where the data is not
 * positive: so also at 0, as in PyTorch (docs/kinks.md). */
#include "kernels/common/elementwise/broadcast.h"
#include "kernels/common/operator/checks.h"

static ons_status *prelu_gradient_infer(ons_operands *o) {
    ONS_TRY(ons_need_float(o, 0));
    ONS_TRY(ons_infer_broadcast(o));
    if (!ons_shape_equal(&o->outputs[0].shape, &o->inputs[0].shape) ||
        !ons_shape_equal(&o->outputs[0].shape, &o->inputs[1].shape))
        return ons_node_error(o, "cotangent and data differ in shape");
    return NULL;
}

static void prelu_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                     void *const *outputs) {
    const double *dy = inputs[0], *x = inputs[1], *slope = inputs[2];
    const ons_shape *shape = &o->outputs[0].shape;
    for (int64_t i = 0, n = ons_shape_elements(shape); i < n; ++i)
        ((double *)outputs[0])[i] =
            x[i] > 0 ? dy[i] : dy[i] * slope[ons_broadcast_index(shape, &o->inputs[2].shape, i)];
}

ONS_DEFINE_OPERATOR(prelu_gradient, "PReluGradient", ONS_INTERNAL, ONS_ARITY(3, 3, 1, 1), ONS_NO_ATTRIBUTES,
                    ONS_INFER(prelu_gradient_infer), ONS_COST(ons_cost_elementwise),
                    ONS_NOT_DIFFERENTIABLE("it is itself a gradient"), ONS_SAVES_NOTHING, ONS_ROLES(ONS_NO_ROLE, 0, 0),
                    ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}, {ONS_ALIAS_MAY, 0, 1}), ONS_FOLLOWS_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(prelu_gradient_reference));
