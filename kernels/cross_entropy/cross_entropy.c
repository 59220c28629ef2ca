/* Cross entropy of logits: Σ (log Σ e^x - x[target]) ÷ counted targets, with the weights and the label smoothing of
 * class_loss.h. For backward, where it is wanted: output 1 is log Σ e^x of every target, 0 where it does not count;
 * output 2 the gradient of the logits for a cotangent of 1, which takes their place as soon as a row is done, so that
 * nobody reads them a second time. */
#include <math.h>

#include "graph/passes/shard.h"
#include "kernels/losses/class_loss.h"
#include "kernels/operators.h"

/* Of one target, whose logits lie `inner` apart: the loss and, where it is wanted, its slope by each of them.
 * `log_sum`: log Σ e^(x - max). */
static double add_target(const ons_class_loss *loss, const void *const *inputs, const double *x, int64_t class,
                         double max, double log_sum, double *slopes) {
    int64_t inner = loss->view.inner;
    double own = (1 - loss->smoothing) * ons_reference_weight(loss, inputs, class);
    double sum = own * (max - x[class * inner] + log_sum), shares = own;
    for (int64_t k = 0; loss->smoothing > 0 && k < loss->view.length; ++k) {
        double spread = ons_reference_spread(loss, inputs, k);
        sum += spread * (max - x[k * inner] + log_sum);
        shares += spread;
    }
    for (int64_t k = 0; slopes != NULL && k < loss->view.length; ++k)
        slopes[k * inner] = shares * exp(x[k * inner] - max - log_sum) - (k == class ? own : 0) -
                            (loss->smoothing > 0 ? ons_reference_spread(loss, inputs, k) : 0);
    return sum;
}

static void cross_entropy_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                    void *const *outputs) {
    ons_class_loss loss = ons_class_loss_of(o);
    loss.wide = true; /* words */
    ons_class_loss_check(&loss, inputs[1], step->fault);
    int64_t length = loss.view.length, inner = loss.view.inner;
    const double *x = inputs[0];
    double *saved = outputs[1], *slopes = outputs[2], sum = 0;
    for (int64_t i = 0; i < loss.view.outer * inner; ++i) {
        int64_t first = i / inner * length * inner + i % inner, class = ons_class_at(&loss, inputs[1], i);
        double max = -INFINITY, total = 0;
        for (int64_t k = 0; k < length; ++k) max = fmax(max, x[first + k * inner]);
        for (int64_t k = 0; k < length; ++k) total += exp(x[first + k * inner] - max);
        if (saved != NULL) saved[i] = class >= 0 ? max + log(total) : 0;
        double *of_row = slopes == NULL ? NULL : slopes + first;
        if (class >= 0) sum += add_target(&loss, inputs, x + first, class, max, log(total), of_row);
        for (int64_t k = 0; of_row != NULL && k < length; ++k)
            of_row[k * inner] = class < 0 ? 0 : of_row[k * inner] / step->counted_targets;
    }
    *(double *)outputs[0] = sum / step->counted_targets;
}

static ons_status *cross_entropy_infer(ons_operands *o) {
    ONS_TRY(ons_class_loss_infer(o));
    if (o->output_count > 2) o->outputs[2] = o->inputs[0];
    return NULL;
}

/* Maximum, subtraction, exponential and sum: four operations an element; three more for each of the gradient. Where
 * labels are smoothed, three more, and two for each of the gradient. */
static ons_cost cross_entropy_cost(const ons_operands *o) {
    bool smoothed = ons_class_loss_smoothing(o) > 0;
    double each = (smoothed ? 7 : 4) + (ons_has_output(o, 2) ? smoothed ? 5 : 3 : 0);
    return (ons_cost){each * (double)ons_elements(&o->inputs[0]), ons_operand_bytes(o)};
}

/* Where the loss is what is differentiated, its gradient is made with it. Not in float16: without the scale of the loss
 * most of it would be rounded to zero. */
static bool makes_own_gradient(const ons_gradient *g) {
    const ons_graph *graph = g->builder->graph;
    const ons_tensor *cotangent = ons_graph_constant(graph, g->cotangents[0]);
    return cotangent != NULL && cotangent->type.dtype == ONS_FLOAT32 && *(const float *)cotangent->data == 1 &&
           g->operands->inputs[0].dtype != ONS_FLOAT16;
}

static ons_status *cross_entropy_gradient(ons_gradient *g) {
    ONS_TRY(ons_refuse_cotangents(g, 1));
    if (makes_own_gradient(g)) {
        g->gradients[0] = ons_gradient_output(g, 2);
        return NULL;
    }
    ons_build_node_like(g->builder, &ons_op_cross_entropy_gradient,
                        ONS_IN(ons_gradient_input(g, 0), ons_gradient_input(g, 1), ons_gradient_output(g, 1),
                               g->cotangents[0], ons_gradient_input(g, 2)),
                        g->operands->attributes, 1, NULL, &g->gradients[0]);
    return NULL;
}

/* Of a shard's classes what can be said without the others; *log_sums gets an axis of one in the place of theirs. */
static ons_value_id build_shard(ons_sharding *s, uint32_t shard, const ons_attribute *attributes,
                                ons_value_id *log_sums) {
    ons_value_id outputs[2];
    ons_sharding_begin(s, shard);
    ons_build_node_like(s->builder, &ons_op_cross_entropy_shard,
                        ONS_IN(s->parts[0][shard], s->inputs[1], ons_sharding_input(s, 2, shard)), attributes, 2, NULL,
                        outputs);
    ons_shape shape = ons_builder_type(s->builder, s->parts[0][shard]).shape;
    shape.dims[s->axes[0]] = 1;
    *log_sums = ons_build(s->builder, ons_registry_role(s->builder->registry, ONS_ROLE_RESHAPE),
                          ONS_IN(outputs[1], ons_build_integers(s->builder, shape.dims, shape.rank)),
                          ONS_WITH(ONS_AT_INT(0, 1)));
    return outputs[0];
}

/* The parts of all shards, and what joins their log sums. */
static ons_status *cross_entropy_shard(ons_sharding *s) {
    const ons_operands *o = s->operands;
    ons_builder *b = s->builder;
    ons_value_id *parts, *log_sums;
    uint32_t axis;
    ONS_TRY(ons_node_axis(o, ons_attribute_int(o, ONS_CLASS_LOSS_AXIS), o->inputs[0].shape.rank, &axis));
    if (s->parts[0] == NULL || s->axes[0] != axis) return NULL;
    const ons_attribute classes = {.kind = ONS_ATTRIBUTE_INT, .i = o->inputs[0].shape.dims[axis]};
    ons_attribute own[ONS_CLASS_LOSS_OTHERS + 2] = {o->attributes[0], o->attributes[1], o->attributes[2]};
    ONS_NEW(parts, b->graph->arena, s->shards + 1);
    ONS_NEW(log_sums, b->graph->arena, s->shards);
    for (uint32_t i = 0; i < s->shards; ++i) {
        own[ONS_CLASS_LOSS_OTHERS] = (ons_attribute){.kind = ONS_ATTRIBUTE_INT, .i = ons_sharding_first(s, 0, i)};
        own[ONS_CLASS_LOSS_OTHERS + 1] = classes;
        parts[i] = build_shard(s, i, own, &log_sums[i]);
    }
    own[ONS_CLASS_LOSS_OTHERS] = classes;
    ons_sharding_begin(s, ONS_NONE);
    ons_value_id all = ons_build(b, ons_registry_role(b->registry, ONS_ROLE_CONCAT), (ons_inputs){log_sums, s->shards},
                                 ONS_WITH(ONS_AT_INT(0, axis)));
    ons_build_node_like(b, &ons_op_cross_entropy_join, ONS_IN(all, s->inputs[1], ons_sharding_input(s, 2, 0)), own, 1,
                        NULL, &parts[s->shards]);
    s->joined =
        ons_build(b, ons_registry_role(b->registry, ONS_ROLE_SUM), (ons_inputs){parts, s->shards + 1}, ONS_DEFAULTS);
    s->join = ONS_SHARDS_JOINED;
    return NULL;
}

ONS_DEFINE_OPERATOR(cross_entropy, "CrossEntropy", ONS_INTERNAL, ONS_ARITY(2, 3, 1, 3), ONS_SMOOTHED_LOSS_ATTRIBUTES,
                    ONS_INFER(cross_entropy_infer), ONS_COST(cross_entropy_cost),
                    ONS_GRADIENT_RULE(cross_entropy_gradient, ONS_INPUT_BIT(0)),
                    ONS_SAVES(ONS_INPUT_BIT(0) | ONS_INPUT_BIT(1) | ONS_INPUT_BIT(2),
                              ONS_INPUT_BIT(1) | ONS_INPUT_BIT(2)),
                    ONS_ROLES_WITH_FULL(ONS_ROLE_CROSS_ENTROPY, ONS_TRAIT_ANY_PRECISION, 0, ONS_INPUT_BIT(2)),
                    ONS_ALIASES({ONS_ALIAS_MAY, 2, 0}), ONS_PLAIN_LAYOUT,
                    ONS_SHARDED_FORMS(NULL, ONS_NO_PATTERNS, NULL, cross_entropy_shard),
                    ONS_REFERENCE(cross_entropy_reference));
