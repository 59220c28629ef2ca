/* Gradient of DropoutTraining: from cotangent and mask, dy / (1 - ratio) where the element was kept, else 0. */
#include "kernels/dropout/dropout_gradient.h"

#include "kernels/common/operator/checks.h"
#include "kernels/random/dropout.h"

static ons_status *dropout_gradient_infer(ons_operands *o) {
    ONS_TRY(ons_need_float(o, 0));
    ONS_TRY(ons_need_bool(o, 1));
    ONS_TRY(ons_dropout_check(o, ons_attribute_float(o, RATIO)));
    if (!ons_shape_equal(&o->inputs[0].shape, &o->inputs[1].shape))
        return ons_node_error(o, "cotangent and mask differ in shape");
    o->outputs[0] = o->inputs[0];
    return NULL;
}

static void dropout_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                       void *const *outputs) {
    double scale = ons_dropout_scale(ons_attribute_float(o, RATIO));
    for (int64_t i = 0, n = ons_elements(&o->outputs[0]); i < n; ++i)
        ((double *)outputs[0])[i] = ((const int64_t *)inputs[1])[i] != 0 ? ((const double *)inputs[0])[i] * scale : 0;
}

ONS_DEFINE_OPERATOR(dropout_gradient, "DropoutGradient", ONS_INTERNAL, ONS_ARITY(2, 2, 1, 1),
                    ONS_ATTRIBUTES(ONS_FLOAT_ATTRIBUTE("ratio", 0.5)), ONS_INFER(dropout_gradient_infer),
                    ONS_COST(ons_cost_elementwise), ONS_NOT_DIFFERENTIABLE("it is itself a gradient"),
                    ONS_SAVES_NOTHING, ONS_ELEMENTWISE_OPERATOR, ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}), ONS_FOLLOWS_LAYOUT,
                    ONS_ONE_FORM, ONS_REFERENCE(dropout_gradient_reference));
