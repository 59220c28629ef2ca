/* Gradient of CrossEntropyShard: from the shard's logits x, target, the log sum of each target here, what comes to
 * output 0 and to output 1 (either may be left out: 0), and the weights,
 *
 *     dx[k] = (what comes to the log sum) e^(x[k] - log sum) - (what comes to output 0) ÷ counted targets × q[k] w[k]
 *
 * 0 where the target does not count. */
#include <math.h>

#include "kernels/losses/class_loss.h"

enum { LOGITS, TARGET, LOG_SUMS, OF_PART, OF_LOG_SUMS };

static void cross_entropy_shard_gradient_reference(const ons_operands *o, const ons_step *step,
                                                   const void *const *inputs, void *const *outputs) {
    ons_class_loss loss = ons_class_loss_of(o);
    loss.wide = true; /* words */
    int64_t length = loss.view.length, inner = loss.view.inner;
    const double *x = inputs[LOGITS], *log_sums = inputs[LOG_SUMS], *of_log_sums = inputs[OF_LOG_SUMS];
    double *dx = outputs[0], scale = inputs[OF_PART] == NULL ? 0 : *(const double *)inputs[OF_PART];
    scale /= step->counted_targets;
    for (int64_t i = 0; i < loss.view.outer * inner; ++i) {
        int64_t class = ons_class_at(&loss, inputs[TARGET], i);
        for (int64_t k = 0; k < length; ++k) {
            int64_t at = (i / inner * length + k) * inner + i % inner, number = loss.first + k;
            dx[at] = 0;
            if (class < 0) continue;
            if (of_log_sums != NULL && log_sums[i] != -INFINITY) dx[at] = of_log_sums[i] * exp(x[at] - log_sums[i]);
            if (number == class) dx[at] -= (1 - loss.smoothing) * ons_reference_weight(&loss, inputs, class) * scale;
            if (loss.smoothing > 0) dx[at] -= ons_reference_spread(&loss, inputs, number) * scale;
        }
    }
}

/* Subtraction, exponential and scaling: three operations an element; two more where labels are smoothed. */
static ons_cost cross_entropy_shard_gradient_cost(const ons_operands *o) {
    double each = ons_class_loss_smoothing(o) > 0 ? 5 : 3;
    return (ons_cost){each * (double)ons_elements(&o->inputs[LOGITS]), ons_operand_bytes(o)};
}

ONS_DEFINE_OPERATOR(cross_entropy_shard_gradient, "CrossEntropyShardGradient", ONS_INTERNAL, ONS_ARITY(3, 6, 1, 1),
                    ONS_SHARD_LOSS_ATTRIBUTES, ONS_INFER(ons_class_loss_gradient_infer),
                    ONS_COST(cross_entropy_shard_gradient_cost), ONS_NOT_DIFFERENTIABLE("it is itself a gradient"),
                    ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR, ONS_ALIASES({ONS_ALIAS_MAY, 0, LOGITS}), ONS_PLAIN_LAYOUT,
                    ONS_ONE_FORM, ONS_REFERENCE(cross_entropy_shard_gradient_reference));
