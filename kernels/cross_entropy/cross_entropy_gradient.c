/* Gradient of cross entropy: from prediction x, target, the saved log Σ e^x, the loss's cotangent and the weights,
 * dx = (e^(x - log Σ e^x) - [class is the target]) × cotangent ÷ counted targets; 0 where the target does not count.
 * With weights and smoothed labels see ons_class_slopes_row. */
#include <math.h>

#include "kernels/common/math/far.h"
#include "kernels/losses/class_loss.h"

static void cross_entropy_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                             void *const *outputs) {
    ons_class_loss loss = ons_class_loss_of(o);
    loss.wide = true; /* words */
    int64_t length = loss.view.length, inner = loss.view.inner;
    const double *x = inputs[0], *log_sum = inputs[2];
    double *dx = outputs[0], scale = *(const double *)inputs[3] / step->counted_targets;
    for (int64_t i = 0; i < loss.view.outer * inner; ++i) {
        int64_t first = i / inner * length * inner + i % inner, class = ons_class_at(&loss, inputs[1], i);
        double own = class < 0 ? 0 : (1 - loss.smoothing) * ons_reference_weight(&loss, inputs, class);
        double shares = class < 0 ? 0 : ons_reference_shares(&loss, inputs, class);
        shares *= ons_far_share_of_words(x + first, inner, length, log_sum[i]);
        for (int64_t k = 0; k < length; ++k) {
            int64_t at = first + k * inner;
            dx[at] = class < 0 ? 0 : (shares * exp(x[at] - log_sum[i]) - (k == class ? own : 0)) * scale;
            if (class >= 0 && loss.smoothing > 0) dx[at] -= ons_reference_spread(&loss, inputs, k) * scale;
        }
    }
}

/* Subtraction, exponential and scaling: three operations an element; two more where labels are smoothed. */
static ons_cost cross_entropy_gradient_cost(const ons_operands *o) {
    double each = ons_class_loss_smoothing(o) > 0 ? 5 : 3;
    return (ons_cost){each * (double)ons_elements(&o->inputs[0]), ons_operand_bytes(o)};
}

ONS_DEFINE_OPERATOR(cross_entropy_gradient, "CrossEntropyGradient", ONS_INTERNAL, ONS_ARITY(4, 5, 1, 1),
                    ONS_SMOOTHED_LOSS_ATTRIBUTES, ONS_INFER(ons_class_loss_gradient_infer),
                    ONS_COST(cross_entropy_gradient_cost), ONS_NOT_DIFFERENTIABLE("it is itself a gradient"),
                    ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR, ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}), ONS_PLAIN_LAYOUT,
                    ONS_ONE_FORM, ONS_REFERENCE(cross_entropy_gradient_reference));
