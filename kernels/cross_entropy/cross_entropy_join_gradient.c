/* Gradient of CrossEntropyJoin: from the shards' log sums, target, the saved log Σ e^(log sum), the loss's cotangent
 * and the weights, (Σ q[c] w[c] of all classes) e^(log sum - log Σ e^(log sum)) × cotangent ÷ counted targets; 0 where
 * the target does not count. */
#include <math.h>

#include "kernels/losses/class_loss.h"

static void cross_entropy_join_gradient_reference(const ons_operands *o, const ons_step *step,
                                                  const void *const *inputs, void *const *outputs) {
    ons_class_loss loss = ons_class_loss_of(o);
    loss.wide = true; /* words */
    int64_t length = loss.view.length, inner = loss.view.inner;
    const double *log_sums = inputs[0], *joined = inputs[2];
    double *slopes = outputs[0], scale = *(const double *)inputs[3] / step->counted_targets;
    for (int64_t i = 0; i < loss.view.outer * inner; ++i) {
        int64_t class = ons_class_at(&loss, inputs[1], i);
        double shares = class < 0 ? 0 : ons_reference_shares(&loss, inputs, class);
        for (int64_t k = 0; k < length; ++k) {
            int64_t at = (i / inner * length + k) * inner + i % inner;
            slopes[at] = class < 0 ? 0 : shares * exp(log_sums[at] - joined[i]) * scale;
        }
    }
}

/* Subtraction, exponential and scaling: three operations an element. */
static ons_cost cross_entropy_join_gradient_cost(const ons_operands *o) {
    return (ons_cost){3 * (double)ons_elements(&o->inputs[0]), ons_operand_bytes(o)};
}

ONS_DEFINE_OPERATOR(cross_entropy_join_gradient, "CrossEntropyJoinGradient", ONS_INTERNAL, ONS_ARITY(4, 5, 1, 1),
                    ONS_JOINED_LOSS_ATTRIBUTES, ONS_INFER(ons_class_loss_gradient_infer),
                    ONS_COST(cross_entropy_join_gradient_cost), ONS_NOT_DIFFERENTIABLE("it is itself a gradient"),
                    ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR, ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}), ONS_PLAIN_LAYOUT,
                    ONS_ONE_FORM, ONS_REFERENCE(cross_entropy_join_gradient_reference));
