/* Cross entropy of a shard of the classes: of logits x of the classes [first, first + n), what can be said of them
 * without the others. With q the targets' distribution over all classes (class_loss.h), the loss is
 *
 *     Σ shards' output 0 + CrossEntropyJoin of the shards' outputs 1
 *
 *     output 0   -Σ q[k] w[k] x[k] over the targets that count and the classes k here, ÷ counted targets
 *     output 1   log Σ e^x[k] of every target, 0 where it does not count
 *
 * Each shard is told all targets. Where all of its logits of a target are -inf so is the log sum: others may have more.
 */
#include <math.h>

#include "kernels/losses/class_loss.h"
#include "kernels/operators.h"

/* log Σ e^x of one target, whose logits lie `inner` apart. */
static double log_sum_of(const double *x, int64_t length, int64_t inner) {
    double max = -INFINITY, total = 0;
    for (int64_t k = 0; k < length; ++k) max = fmax(max, x[k * inner]);
    double shift = isinf(max) ? 0 : max;
    for (int64_t k = 0; k < length; ++k) total += exp(x[k * inner] - shift);
    return shift + log(total);
}

static void cross_entropy_shard_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                          void *const *outputs) {
    ons_class_loss loss = ons_class_loss_of(o);
    loss.wide = true; /* words */
    ons_class_loss_check(&loss, inputs[1], step->fault);
    int64_t length = loss.view.length, inner = loss.view.inner;
    double *log_sums = outputs[1], sum = 0;
    for (int64_t i = 0; i < loss.view.outer * inner; ++i) {
        const double *x = (const double *)inputs[0] + i / inner * length * inner + i % inner;
        int64_t class = ons_class_at(&loss, inputs[1], i);
        if (log_sums != NULL) log_sums[i] = class < 0 ? 0 : log_sum_of(x, length, inner);
        for (int64_t k = 0; class >= 0 && k < length; ++k) {
            int64_t number = loss.first + k;
            if (number == class)
                sum -= (1 - loss.smoothing) * ons_reference_weight(&loss, inputs, class) * x[k * inner];
            if (loss.smoothing > 0) sum -= ons_reference_spread(&loss, inputs, number) * x[k * inner];
        }
    }
    *(double *)outputs[0] = sum / step->counted_targets;
}

/* Maximum, subtraction, exponential and sum: four operations an element; two more where labels are smoothed. */
static ons_cost cross_entropy_shard_cost(const ons_operands *o) {
    double each = ons_class_loss_smoothing(o) > 0 ? 6 : 4;
    return (ons_cost){each * (double)ons_elements(&o->inputs[0]), ons_operand_bytes(o)};
}

static ons_status *cross_entropy_shard_gradient(ons_gradient *g) {
    ons_value_id log_sums = ons_gradient_output(g, 1);
    ons_build_node_like(g->builder, &ons_op_cross_entropy_shard_gradient,
                        ONS_IN(ons_gradient_input(g, 0), ons_gradient_input(g, 1), log_sums, g->cotangents[0],
                               g->cotangents[1], ons_gradient_input(g, 2)),
                        g->operands->attributes, 1, NULL, &g->gradients[0]);
    return NULL;
}

ONS_DEFINE_OPERATOR(cross_entropy_shard, "CrossEntropyShard", ONS_INTERNAL, ONS_ARITY(2, 3, 1, 2),
                    ONS_SHARD_LOSS_ATTRIBUTES, ONS_INFER(ons_class_loss_infer), ONS_COST(cross_entropy_shard_cost),
                    ONS_GRADIENT_RULE(cross_entropy_shard_gradient, ONS_INPUT_BIT(0)),
                    ONS_SAVES(ONS_INPUT_BIT(0) | ONS_INPUT_BIT(1) | ONS_INPUT_BIT(2), ONS_INPUT_BIT(1)),
                    ONS_ROLES_WITH_FULL(ONS_NO_ROLE, ONS_TRAIT_ANY_PRECISION, 0, ONS_INPUT_BIT(2)), ONS_NO_ALIASES,
                    ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(cross_entropy_shard_reference));
