/* What joins cross entropy's shards (cross_entropy_shard.c): of the log sums of all shards, which lie along the axis in
 * the place of the classes, target and weights,
 *
 *     output 0   Σ (Σ q[c] w[c] of all classes) log Σ e^(log sum) over the targets that count, ÷ counted targets
 *     output 1   log Σ e^(log sum) of every target, for backward; 0 where it does not count
 *
 * A target outside the classes is the shards' to report. */
#include <math.h>

#include "kernels/losses/class_loss.h"
#include "kernels/operators.h"

static void cross_entropy_join_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                         void *const *outputs) {
    ons_class_loss loss = ons_class_loss_of(o);
    loss.wide = true; /* words */
    int64_t length = loss.view.length, inner = loss.view.inner;
    double *saved = outputs[1], sum = 0;
    for (int64_t i = 0; i < loss.view.outer * inner; ++i) {
        const double *log_sums = (const double *)inputs[0] + i / inner * length * inner + i % inner;
        int64_t class = ons_class_at(&loss, inputs[1], i);
        double max = -INFINITY, total = 0;
        for (int64_t k = 0; k < length; ++k) max = fmax(max, log_sums[k * inner]);
        for (int64_t k = 0; k < length; ++k) total += exp(log_sums[k * inner] - max);
        double joined = class < 0 ? 0 : max + log(total);
        if (saved != NULL) saved[i] = joined;
        if (class >= 0) sum += ons_reference_shares(&loss, inputs, class) * joined;
    }
    *(double *)outputs[0] = sum / step->counted_targets;
}

/* Maximum, subtraction, exponential and sum: four operations an element. */
static ons_cost cross_entropy_join_cost(const ons_operands *o) {
    return (ons_cost){4 * (double)ons_elements(&o->inputs[0]), ons_operand_bytes(o)};
}

static ons_status *cross_entropy_join_gradient(ons_gradient *g) {
    ONS_TRY(ons_refuse_cotangents(g, 1));
    ons_build_node_like(g->builder, &ons_op_cross_entropy_join_gradient,
                        ONS_IN(ons_gradient_input(g, 0), ons_gradient_input(g, 1), ons_gradient_output(g, 1),
                               g->cotangents[0], ons_gradient_input(g, 2)),
                        g->operands->attributes, 1, NULL, &g->gradients[0]);
    return NULL;
}

ONS_DEFINE_OPERATOR(cross_entropy_join, "CrossEntropyJoin", ONS_INTERNAL, ONS_ARITY(2, 3, 1, 2),
                    ONS_JOINED_LOSS_ATTRIBUTES, ONS_INFER(ons_class_loss_infer), ONS_COST(cross_entropy_join_cost),
                    ONS_GRADIENT_RULE(cross_entropy_join_gradient, ONS_INPUT_BIT(0)),
                    ONS_SAVES(ONS_INPUT_BIT(0) | ONS_INPUT_BIT(1) | ONS_INPUT_BIT(2), ONS_INPUT_BIT(1)),
                    ONS_PLAIN_OPERATOR, ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(cross_entropy_join_reference));
