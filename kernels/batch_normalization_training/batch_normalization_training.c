/* BatchNormalization while training: statistics of the batch, running statistics renewed in place, and mean and inverse
 * standard deviation kept for the gradient.
 *
 * The running variance follows PyTorch, where the models come from: it is renewed with the unbiased variance of the
 * batch, n / (n − 1). ONNX's operator takes n instead; attribute unbiased = 0 does so, too. Attribute replicas: of a
 * training run, whose micro-batches are normalised together. */
#include "kernels/batch_normalization_training/batch_normalization_training.h"

#include "kernels/normalization/batch_training.h"

extern const ons_operator ons_op_batch_normalization_gradient;

static ons_cost batch_normalization_training_cost(const ons_operands *o) {
    return (ons_cost){6 * (double)ons_elements(&o->inputs[0]), ons_operand_bytes(o)};
}

static ons_status *batch_normalization_training_choose(const ons_operands *o, ons_layout *inputs, ons_layout *outputs) {
    ons_channels_choose(o, inputs, outputs);
    return NULL;
}

static void batch_normalization_training_reference(const ons_operands *o, const ons_step *step,
                                                   const void *const *inputs, void *const *outputs) {
    (void)step;
    double *made[5] = {0};
    for (uint32_t i = 0; i < 5 && i < o->output_count; ++i) made[i] = outputs[i];
    ons_batch_training_reference(o, ons_attribute_float(o, EPSILON), ons_attribute_float(o, MOMENTUM),
                                 ons_attribute_int(o, UNBIASED) != 0, inputs, made[Y], made[MEAN], made[VARIANCE],
                                 made[SAVED_MEAN], made[SAVED_INVERSE]);
}

static ons_status *batch_normalization_training_gradient(ons_gradient *g) {
    for (uint32_t i = MEAN; i < ons_graph_node(g->builder->graph, g->node)->output_count; ++i)
        if (g->cotangents[i] != ONS_NONE)
            return ons_node_error(g->operands,
                                  "the statistics are not differentiable; use the normalised output alone");
    ons_build_node(g->builder, &ons_op_batch_normalization_gradient,
                   ONS_IN(g->cotangents[Y], ons_gradient_input(g, 0), ons_gradient_input(g, 1),
                          ons_gradient_output(g, SAVED_MEAN), ons_gradient_output(g, SAVED_INVERSE)),
                   ONS_WITH(ONS_AT_INT(2, ons_attribute_int(g->operands, REPLICAS))), 3, g->wanted, g->gradients);
    return NULL;
}

ONS_DEFINE_OPERATOR(batch_normalization_training, "BatchNormalizationTraining", ONS_INTERNAL, ONS_ARITY(5, 5, 1, 5),
                    ONS_ATTRIBUTES(ONS_FLOAT_ATTRIBUTE("epsilon", 1e-5), ONS_FLOAT_ATTRIBUTE("momentum", 0.9),
                                   ONS_INT_ATTRIBUTE("unbiased", 1), ONS_INT_ATTRIBUTE("replicas", 1)),
                    ONS_INFER(ons_batch_infer), ONS_COST(batch_normalization_training_cost),
                    ONS_GRADIENT_RULE(batch_normalization_training_gradient,
                                      ONS_INPUT_BIT(0) | ONS_INPUT_BIT(1) | ONS_INPUT_BIT(2)),
                    ONS_SAVES(ONS_INPUT_BIT(0) | ONS_INPUT_BIT(1), 1u << SAVED_MEAN | 1u << SAVED_INVERSE),
                    ONS_ROLES_WITH_FULL(ONS_NO_ROLE,
                                        ONS_TRAIT_STATISTICS | ONS_TRAIT_COUPLES_SAMPLES | ONS_TRAIT_ANY_PRECISION,
                                        ONS_INPUT_BIT(3) | ONS_INPUT_BIT(4), ONS_INPUT_BIT(1) | ONS_INPUT_BIT(2)),
                    ONS_ALIASES({ONS_ALIAS_STATE, MEAN, 3}, {ONS_ALIAS_STATE, VARIANCE, 4}),
                    ONS_CHOOSES_LAYOUT(batch_normalization_training_choose), ONS_ONE_FORM,
                    ONS_REFERENCE(batch_normalization_training_reference));
