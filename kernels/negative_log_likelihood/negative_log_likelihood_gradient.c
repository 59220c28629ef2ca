/* Gradient of negative log likelihood: from prediction (its shape alone), target, the loss's cotangent and the weights,
 * -w[target] × cotangent ÷ counted targets at the targets and 0 elsewhere. */
#include "kernels/losses/class_loss.h"

static void negative_log_likelihood_gradient_reference(const ons_operands *o, const ons_step *step,
                                                       const void *const *inputs, void *const *outputs) {
    ons_class_loss loss = ons_class_loss_of(o);
    loss.wide = true; /* words */
    int64_t length = loss.view.length, inner = loss.view.inner;
    double *dx = outputs[0], scale = *(const double *)inputs[2] / step->counted_targets;
    for (int64_t i = 0; i < ons_elements(&o->outputs[0]); ++i) dx[i] = 0;
    for (int64_t i = 0; i < loss.view.outer * inner; ++i) {
        int64_t class = ons_class_at(&loss, inputs[1], i);
        if (class < 0) continue;
        dx[(i / inner * length + class) * inner + i % inner] = -scale * ons_reference_weight(&loss, inputs, class);
    }
}

static ons_cost negative_log_likelihood_gradient_cost(const ons_operands *o) {
    return (ons_cost){(double)ons_elements(&o->inputs[1]),
                      (double)(ons_type_dense_bytes(&o->outputs[0]) + ons_type_dense_bytes(&o->inputs[1]))};
}

ONS_DEFINE_OPERATOR(negative_log_likelihood_gradient, "NegativeLogLikelihoodGradient", ONS_INTERNAL,
                    ONS_ARITY(3, 4, 1, 1), ONS_CLASS_LOSS_ATTRIBUTES, ONS_INFER(ons_class_loss_gradient_infer),
                    ONS_COST(negative_log_likelihood_gradient_cost), ONS_NOT_DIFFERENTIABLE("it is itself a gradient"),
                    ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR, ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}), ONS_PLAIN_LAYOUT,
                    ONS_ONE_FORM, ONS_REFERENCE(negative_log_likelihood_gradient_reference));
