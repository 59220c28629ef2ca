/* BatchNormalization while training: statistics of the batch, running statistics renewed in place, and mean and inverse
 * standard deviation kept for the gradient.
 *
 * The running variance follows PyTorch, where the models come from: it is renewed with the unbiased variance of the
 * batch, n / (n − 1). ONNX's operator takes n instead; attribute unbiased = 0 does so, too. Attribute replicas: of a
 * training run, whose micro-batches are normalised together.
 *
 * What stands behind a normalisation in residual networks is done in the same pass over memory: input 5, where there is
 * one, is added, and then comes Relu (activation = 1), or Clip (2) to low and high where nothing is added. The bits are
 * those of the operators in a row, but for half precision on the CPU: sums are rounded once, and the gradient of Clip
 * asks what was not rounded. Where nothing is added the gradient takes from the operands which elements the activation
 * let through, so that neither its operand nor its result is read for it. */
#include "kernels/batch_normalization_training/batch_normalization_training.h"

#include "graph/passes/fuse.h"
#include "kernels/normalization/batch_training.h"

extern const ons_operator ons_op_batch_normalization_gradient;
extern const ons_operator ons_op_batch_normalization_training;
extern const ons_operator ons_op_relu_gradient;

static ons_batch_activation_kind kind_of(const ons_operands *o) { return ons_batch_activation_of(o, ACTIVATION).kind; }

static ons_status *batch_normalization_training_infer(ons_operands *o) {
    ONS_TRY(ons_batch_infer(o));
    if (ons_has_input(o, RESIDUAL) && (o->inputs[RESIDUAL].dtype != o->inputs[X].dtype ||
                                       !ons_shape_equal(&o->inputs[RESIDUAL].shape, &o->inputs[X].shape)))
        return ons_node_error(o, "what is added must have the input's type and shape");
    ONS_TRY(ons_batch_check_activation(o, ACTIVATION));
    /* The gradient of Clip asks the sum, of which the result does not say enough. */
    if (ons_has_input(o, RESIDUAL) && kind_of(o) == ONS_BATCH_CLIP)
        return ons_node_error(o, "Clip goes with nothing that is added");
    return NULL;
}

static ons_cost batch_normalization_training_cost(const ons_operands *o) {
    int operations = 6 + (ons_has_input(o, RESIDUAL) ? 1 : 0) + (kind_of(o) != ONS_BATCH_PLAIN ? 1 : 0);
    return (ons_cost){operations * (double)ons_elements(&o->inputs[X]), ons_operand_bytes(o)};
}

static ons_status *batch_normalization_training_choose(const ons_operands *o, ons_layout *inputs, ons_layout *outputs) {
    ons_channels_choose(o, inputs, outputs);
    return NULL;
}

static void batch_normalization_training_reference(const ons_operands *o, const ons_step *step,
                                                   const void *const *inputs, void *const *outputs) {
    (void)step;
    double *made[ONS_BATCH_MADE] = {0};
    for (uint32_t i = 0; i < OUTPUTS && i < o->output_count; ++i) made[i] = outputs[i];
    ons_batch_training_reference(o, ons_attribute_float(o, EPSILON), ons_attribute_float(o, MOMENTUM),
                                 ons_attribute_int(o, UNBIASED) != 0, inputs, made);
    const double *residual = ons_has_input(o, RESIDUAL) ? inputs[RESIDUAL] : NULL;
    ons_batch_activation activation = ons_batch_activation_of(o, ACTIVATION);
    for (int64_t i = 0, count = ons_elements(&o->outputs[Y]); i < count; ++i) {
        if (residual != NULL) made[Y][i] += residual[i];
        if (activation.kind != ONS_BATCH_PLAIN && made[Y][i] < activation.low) made[Y][i] = activation.low;
        if (activation.kind == ONS_BATCH_CLIP && made[Y][i] > activation.high) made[Y][i] = activation.high;
    }
}

static ons_status *batch_normalization_training_gradient(ons_gradient *g) {
    for (uint32_t i = MEAN; i < ons_graph_node(g->builder->graph, g->node)->output_count; ++i)
        if (g->cotangents[i] != ONS_NONE)
            return ons_node_error(g->operands,
                                  "the statistics are not differentiable; use the normalised output alone");
    const ons_operands *o = g->operands;
    ons_value_id dy = g->cotangents[Y];
    ons_batch_activation activation = ons_batch_activation_of(o, ACTIVATION);
    bool added = ons_has_input(o, RESIDUAL), active = activation.kind != ONS_BATCH_PLAIN, gated = active && !added;
    if (active && added)
        dy = ons_build(g->builder, &ons_op_relu_gradient, ONS_IN(dy, ons_gradient_output(g, Y)), ONS_DEFAULTS);
    const ons_value_id inputs[] = {dy,
                                   ons_gradient_input(g, X),
                                   ons_gradient_input(g, SCALE),
                                   ons_gradient_output(g, SAVED_MEAN),
                                   ons_gradient_output(g, SAVED_INVERSE),
                                   gated ? ons_gradient_input(g, BIAS) : ONS_NONE,
                                   gated ? ons_gradient_output(g, SAVED_SLOPE) : ONS_NONE};
    ons_build_node(g->builder, &ons_op_batch_normalization_gradient, (ons_inputs){inputs, gated ? 7 : 5},
                   ONS_WITH(ONS_AT_INT(2, ons_attribute_int(o, REPLICAS)), ONS_AT_INT(3, activation.kind),
                            ONS_AT_FLOAT(4, activation.low), ONS_AT_FLOAT(5, activation.high)),
                   3, g->wanted, g->gradients);
    if (added && g->wanted[RESIDUAL]) g->gradients[RESIDUAL] = dy;
    return NULL;
}

/* Parameters of a lower precision would be rounded before the gradient sees them. */
static ons_value_id replace(ons_match *match, ons_value_id residual, ons_batch_activation activation) {
    const ons_operands *o = ons_match_node(match, "normal");
    ons_value_id x = ons_match_value(match, "x"), made[OUTPUTS];
    if (o == NULL || kind_of(o) != ONS_BATCH_PLAIN || o->inputs[X].dtype != ONS_FLOAT32 ||
        o->inputs[SCALE].dtype != ONS_FLOAT32)
        return ONS_NONE;
    ons_type added = ons_builder_type(ons_match_builder(match), residual);
    if (residual != ONS_NONE && !ons_type_equal(&added, &o->inputs[X])) return ONS_NONE;
    const ons_value_id inputs[] = {x,
                                   ons_match_value(match, "scale"),
                                   ons_match_value(match, "bias"),
                                   ons_match_value(match, "mean"),
                                   ons_match_value(match, "variance"),
                                   residual};
    static const bool wanted[OUTPUTS] = {true};
    ons_node_id node = ons_build_node(
        ons_match_builder(match), &ons_op_batch_normalization_training,
        (ons_inputs){inputs, residual == ONS_NONE ? 5 : 6},
        ONS_WITH(ONS_AT_FLOAT(EPSILON, ons_attribute_float(o, EPSILON)),
                 ONS_AT_FLOAT(MOMENTUM, ons_attribute_float(o, MOMENTUM)),
                 ONS_AT_INT(UNBIASED, ons_attribute_int(o, UNBIASED)),
                 ONS_AT_INT(REPLICAS, ons_attribute_int(o, REPLICAS)), ONS_AT_INT(ACTIVATION, activation.kind),
                 ONS_AT_FLOAT(ACTIVATION + 1, activation.low), ONS_AT_FLOAT(ACTIVATION + 2, activation.high)),
        OUTPUTS, wanted, made);
    ons_match_hand_over(match, "normal", node);
    return made[Y];
}

static const ons_batch_activation PLAIN = {.kind = ONS_BATCH_PLAIN}, RELU = {.kind = ONS_BATCH_RELU};

static bool has_residual(const ons_match *match) {
    const ons_operands *o = ons_match_node(match, "normal");
    return o != NULL && ons_has_input(o, RESIDUAL);
}

static ons_value_id replace_relu(ons_match *match) {
    return has_residual(match) ? ONS_NONE : replace(match, ONS_NONE, RELU);
}

static ons_value_id replace_relu_of_sum(ons_match *match) {
    return replace(match, ons_match_value(match, "residual"), RELU);
}

static ons_value_id replace_sum(ons_match *match) {
    if (has_residual(match)) return ONS_NONE;
    return replace(match, ons_match_value(match, "residual"), PLAIN);
}

static ons_value_id replace_clip(ons_match *match) {
    double low = ons_match_scalar(match, "low"), high = ons_match_scalar(match, "high");
    if (has_residual(match) || !(low <= high)) return ONS_NONE;
    return replace(match, ONS_NONE, (ons_batch_activation){ONS_BATCH_CLIP, (float)low, (float)high});
}

/* A sum is taken in before Relu behind it is looked at, and so is an input of the normalisation then. */
#define NORMAL "normal=BatchNormalizationTraining(x, scale, bias, mean, variance)"
#define SUM    "normal=BatchNormalizationTraining(x, scale, bias, mean, variance, residual)"

ONS_DEFINE_OPERATOR(
    batch_normalization_training, "BatchNormalizationTraining", ONS_INTERNAL, ONS_ARITY(5, 6, 1, OUTPUTS),
    ONS_ATTRIBUTES(ONS_FLOAT_ATTRIBUTE("epsilon", 1e-5), ONS_FLOAT_ATTRIBUTE("momentum", 0.9),
                   ONS_INT_ATTRIBUTE("unbiased", 1), ONS_INT_ATTRIBUTE("replicas", 1),
                   ONS_BATCH_ACTIVATION_ATTRIBUTES(ONS_BATCH_PLAIN)),
    ONS_INFER(batch_normalization_training_infer), ONS_COST(batch_normalization_training_cost),
    ONS_GRADIENT_RULE(batch_normalization_training_gradient,
                      ONS_INPUT_BIT(X) | ONS_INPUT_BIT(SCALE) | ONS_INPUT_BIT(BIAS) | ONS_INPUT_BIT(RESIDUAL)),
    ONS_SAVES(ONS_INPUT_BIT(X) | ONS_INPUT_BIT(SCALE) | ONS_INPUT_BIT(BIAS),
              1u << Y | 1u << SAVED_MEAN | 1u << SAVED_INVERSE | 1u << SAVED_SLOPE),
    ONS_ROLES_WITH_FULL(ONS_NO_ROLE,
                        ONS_TRAIT_STATISTICS | ONS_TRAIT_COUPLES_SAMPLES | ONS_TRAIT_ANY_PRECISION |
                            ONS_TRAIT_CHEAP_AGAIN,
                        ONS_INPUT_BIT(3) | ONS_INPUT_BIT(4), ONS_INPUT_BIT(1) | ONS_INPUT_BIT(2)),
    ONS_ALIASES({ONS_ALIAS_STATE, MEAN, 3}, {ONS_ALIAS_STATE, VARIANCE, 4}, {ONS_ALIAS_MAY, Y, RESIDUAL}),
    ONS_CHOOSES_LAYOUT(batch_normalization_training_choose),
    ONS_FORMS(NULL,
              ONS_PATTERNS({"Relu(" NORMAL ")", replace_relu}, {"Relu(" SUM ")", replace_relu_of_sum},
                           {"Add(" NORMAL ", residual)", replace_sum}, {"Clip(" NORMAL ", ?low, ?high)", replace_clip}),
              NULL),
    ONS_REFERENCE(batch_normalization_training_reference));
