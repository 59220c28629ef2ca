/* Gradient of Clip: the cotangent where the input lies between the bounds; 0 elsewhere and on a bound, as in PyTorch
 * (docs/kinks.md). */
#include <math.h>

#include "graph/operator.h"
#include "kernels/common/operator/checks.h"
#include "kernels/common/operator/kernel.h"

static ons_status *clip_gradient_infer(ons_operands *o) {
    ONS_TRY(ons_need_float(o, 0));
    if (!ons_shape_equal(&o->inputs[0].shape, &o->inputs[1].shape))
        return ons_node_error(o, "cotangent and input differ in shape");
    return ons_infer_like_first(o);
}

static void clip_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                    void *const *outputs) {
    const double *dy = inputs[0], *x = inputs[1];
    double low = ons_has_input(o, 2) ? *(const double *)inputs[2] : -INFINITY;
    double high = ons_has_input(o, 3) ? *(const double *)inputs[3] : INFINITY;
    double *dx = outputs[0];
    for (int64_t i = 0, n = ons_elements(&o->outputs[0]); i < n; ++i) dx[i] = x[i] > low && x[i] < high ? dy[i] : 0;
}

ONS_DEFINE_OPERATOR(clip_gradient, "ClipGradient", ONS_INTERNAL, ONS_ARITY(2, 4, 1, 1), ONS_NO_ATTRIBUTES,
                    ONS_INFER(clip_gradient_infer), ONS_COST(ons_cost_elementwise),
                    ONS_NOT_DIFFERENTIABLE("it is itself a gradient"), ONS_SAVES_NOTHING, ONS_ELEMENTWISE_OPERATOR,
                    ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}, {ONS_ALIAS_MAY, 0, 1}), ONS_FOLLOWS_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(clip_gradient_reference));
