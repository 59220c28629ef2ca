/* NegativeLogLikelihoodLoss: minus the score, a log probability, at the label, weighted and reduced. */
#include "kernels/common/operator/rules.h"
#include "kernels/losses/model_loss.h"
#include "kernels/operators.h"

static double loss_of(const ons_axis_view *view, const double *scores, int64_t class) {
    return -scores[class * view->inner];
}

static void negative_log_likelihood_loss_reference(const ons_operands *o, const ons_step *step,
                                                   const void *const *inputs, void *const *outputs) {
    ons_model_loss_reference(o, step, inputs, outputs, loss_of);
}

static ons_cost negative_log_likelihood_loss_cost(const ons_operands *o) {
    double targets = (double)ons_elements(&o->inputs[1]);
    return (ons_cost){targets, 12 * targets};
}

static ons_status *negative_log_likelihood_loss_gradient(ons_gradient *g) {
    g->gradients[0] =
        ons_make_like(g, &ons_op_negative_log_likelihood_loss_gradient,
                      ONS_IN(ons_gradient_input(g, ONS_MODEL_LOSS_SCORES), ons_gradient_input(g, ONS_MODEL_LOSS_LABELS),
                             g->cotangents[0], ons_gradient_input(g, ONS_MODEL_LOSS_OTHERS)));
    return NULL;
}

/* Weights are a setting of the loss, as in PyTorch: a gradient to them would only teach the model to count less. */
ONS_DEFINE_OPERATOR(negative_log_likelihood_loss, "NegativeLogLikelihoodLoss", ONS_ONNX(12, ONS_NEWEST),
                    ONS_ARITY(2, 3, 1, 1), ONS_MODEL_LOSS_ATTRIBUTES, ONS_INFER(ons_model_loss_infer),
                    ONS_COST(negative_log_likelihood_loss_cost),
                    ONS_GRADIENT_RULE(negative_log_likelihood_loss_gradient, ONS_INPUT_BIT(0)),
                    ONS_SAVES(ONS_INPUT_BIT(0) | ONS_INPUT_BIT(1) | ONS_INPUT_BIT(2), 0), ONS_PLAIN_OPERATOR,
                    ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(negative_log_likelihood_loss_reference));
