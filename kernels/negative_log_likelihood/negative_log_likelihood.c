/* Negative log likelihood of log probabilities: -Σ w[target] x[target] ÷ counted targets. */
#include "kernels/losses/class_loss.h"
#include "kernels/operators.h"

static void negative_log_likelihood_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                              void *const *outputs) {
    ons_class_loss loss = ons_class_loss_of(o);
    loss.wide = true; /* words */
    ons_class_loss_check(&loss, inputs[1], step->fault);
    int64_t length = loss.view.length, inner = loss.view.inner;
    const double *x = inputs[0];
    double sum = 0;
    for (int64_t i = 0; i < loss.view.outer * inner; ++i) {
        int64_t class = ons_class_at(&loss, inputs[1], i);
        if (class < 0) continue;
        sum -= ons_reference_weight(&loss, inputs, class) * x[(i / inner * length + class) * inner + i % inner];
    }
    *(double *)outputs[0] = sum / step->counted_targets;
}

static ons_cost negative_log_likelihood_cost(const ons_operands *o) {
    double targets = (double)ons_elements(&o->inputs[1]);
    return (ons_cost){targets, 12 * targets};
}

static ons_status *negative_log_likelihood_gradient(ons_gradient *g) {
    ons_build_node_like(
        g->builder, &ons_op_negative_log_likelihood_gradient,
        ONS_IN(ons_gradient_input(g, 0), ons_gradient_input(g, 1), g->cotangents[0], ons_gradient_input(g, 2)),
        g->operands->attributes, 1, NULL, &g->gradients[0]);
    return NULL;
}

ONS_DEFINE_OPERATOR(negative_log_likelihood, "NegativeLogLikelihood", ONS_INTERNAL, ONS_ARITY(2, 3, 1, 1),
                    ONS_CLASS_LOSS_ATTRIBUTES, ONS_INFER(ons_class_loss_infer), ONS_COST(negative_log_likelihood_cost),
                    ONS_GRADIENT_RULE(negative_log_likelihood_gradient, ONS_INPUT_BIT(0)),
                    ONS_SAVES(ONS_INPUT_BIT(0) | ONS_INPUT_BIT(1) | ONS_INPUT_BIT(2), 0),
                    ONS_ROLES(ONS_ROLE_NEGATIVE_LOG_LIKELIHOOD, 0, 0), ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(negative_log_likelihood_reference));
