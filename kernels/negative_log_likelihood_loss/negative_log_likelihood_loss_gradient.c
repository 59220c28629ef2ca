/* Gradient of NegativeLogLikelihoodLoss: from scores (their shape alone), labels, the loss's cotangent and
 * weights, minus what the target counts at its label and 0 elsewhere. */
#include "kernels/negative_log_likelihood_loss/negative_log_likelihood_loss_gradient.h"

#include "kernels/losses/model_loss.h"

static ons_status *negative_log_likelihood_loss_gradient_infer(ons_operands *o) {
    return ons_model_loss_gradient_infer(o, COTANGENT);
}

static double slope_of(double score, bool is_label) { return is_label ? -1 : 0; }

static void negative_log_likelihood_loss_gradient_reference(const ons_operands *o, const ons_step *step,
                                                            const void *const *inputs, void *const *outputs) {
    ons_model_loss_gradient_reference(o, inputs, COTANGENT, NULL, outputs[0], slope_of);
}

static ons_cost negative_log_likelihood_loss_gradient_cost(const ons_operands *o) {
    return (ons_cost){(double)ons_elements(&o->inputs[1]),
                      (double)(ons_type_dense_bytes(&o->outputs[0]) + ons_type_dense_bytes(&o->inputs[1]))};
}

ONS_DEFINE_OPERATOR(negative_log_likelihood_loss_gradient, "NegativeLogLikelihoodLossGradient", ONS_INTERNAL,
                    ONS_ARITY(3, 4, 1, 1), ONS_MODEL_LOSS_ATTRIBUTES,
                    ONS_INFER(negative_log_likelihood_loss_gradient_infer),
                    ONS_COST(negative_log_likelihood_loss_gradient_cost),
                    ONS_NOT_DIFFERENTIABLE("it is itself a gradient"), ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR,
                    ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(negative_log_likelihood_loss_gradient_reference));
