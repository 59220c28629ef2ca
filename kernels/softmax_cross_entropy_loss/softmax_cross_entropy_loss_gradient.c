/* Gradient of SoftmaxCrossEntropyLoss: from scores x, labels, the saved log Σ e^x, the loss's cotangent and
 * weights, dx = (e^(x - log Σ e^x) - [class is the label]) × what the target counts. */
#include "kernels/softmax_cross_entropy_loss/softmax_cross_entropy_loss_gradient.h"

#include <math.h>

#include "kernels/losses/model_loss.h"

static ons_status *softmax_cross_entropy_loss_gradient_infer(ons_operands *o) {
    if (!ons_shape_equal(&o->inputs[LOG_SUM].shape, &o->inputs[ONS_MODEL_LOSS_LABELS].shape))
        return ons_node_error(o, "the saved sums do not have the labels' shape");
    return ons_model_loss_gradient_infer(o, COTANGENT);
}

static double slope_of(double log_probability, bool is_label) { return exp(log_probability) - (is_label ? 1 : 0); }

static void softmax_cross_entropy_loss_gradient_reference(const ons_operands *o, const ons_step *step,
                                                          const void *const *inputs, void *const *outputs) {
    ons_model_loss_gradient_reference(o, inputs, COTANGENT, inputs[LOG_SUM], outputs[0], slope_of);
}

/* Subtraction, exponential and scaling: three operations an element. */
static ons_cost softmax_cross_entropy_loss_gradient_cost(const ons_operands *o) {
    return (ons_cost){3 * (double)ons_elements(&o->inputs[0]), ons_operand_bytes(o)};
}

ONS_DEFINE_OPERATOR(softmax_cross_entropy_loss_gradient, "SoftmaxCrossEntropyLossGradient", ONS_INTERNAL,
                    ONS_ARITY(4, 5, 1, 1), ONS_MODEL_LOSS_ATTRIBUTES,
                    ONS_INFER(softmax_cross_entropy_loss_gradient_infer),
                    ONS_COST(softmax_cross_entropy_loss_gradient_cost),
                    ONS_NOT_DIFFERENTIABLE("it is itself a gradient"), ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR,
                    ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}), ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(softmax_cross_entropy_loss_gradient_reference));
