/* BatchNormalization. In its inference form a channel is scaled and shifted by running statistics; in its training form
 * (5 outputs below opset 14, attribute training_mode since) by those of the batch, as ONNX's specification says. While
 * a model is trained the training form gives way to BatchNormalizationTraining. */
#include "kernels/batch_normalization/batch_normalization.h"

#include <math.h>

#include "graph/passes/replacement.h"
#include "graph/upgrade.h"
#include "kernels/common/operator/rules.h"
#include "kernels/normalization/batch_training.h"

extern const ons_operator ons_op_batch_normalization;
extern const ons_operator ons_op_add;
extern const ons_operator ons_op_batch_normalization_gradient;
extern const ons_operator ons_op_batch_normalization_training;
extern const ons_operator ons_op_div;
extern const ons_operator ons_op_mul;
extern const ons_operator ons_op_neg;
extern const ons_operator ons_op_sqrt;

static ons_cost batch_normalization_cost(const ons_operands *o) {
    return (ons_cost){(is_training(o) ? 6 : 2) * (double)ons_elements(&o->inputs[0]), ons_operand_bytes(o)};
}

static ons_status *batch_normalization_choose(const ons_operands *o, ons_layout *inputs, ons_layout *outputs) {
    ons_channels_choose(o, inputs, outputs);
    return NULL;
}

static void batch_normalization_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                          void *const *outputs) {
    (void)step;
    double epsilon = ons_attribute_float(o, EPSILON);
    if (is_training(o)) {
        double *made[ONS_BATCH_MADE] = {0};
        for (uint32_t i = 0; i < 5 && i < o->output_count; ++i) made[i] = outputs[i];
        ons_batch_training_reference(o, epsilon, ons_attribute_float(o, MOMENTUM), false, inputs, made);
        return;
    }
    ons_channels size = ons_channels_of(&o->inputs[0]);
    const double *x = inputs[0], *scale = inputs[1], *bias = inputs[2], *mean = inputs[3], *variance = inputs[4];
    double *y = outputs[0];
    for (int64_t i = 0, count = ons_elements(&o->inputs[0]); i < count; ++i) {
        int64_t c = i / size.positions % size.channels;
        y[i] = (x[i] - mean[c]) / sqrt(variance[c] + epsilon) * scale[c] + bias[c];
    }
}

/* Mean and variance are running statistics as a rule, but may be computed by the graph (a layer without running
 * statistics as PyTorch's newer exporter writes it): then the gradient reaches them too. With r = 1 ÷ √(variance + ε),
 *   d mean     = -d bias · scale · r
 *   d variance = -½ · d scale · scale · r²        since d scale = Σ d y · (x - mean) · r */
static void differentiate_statistics(ons_gradient *g, ons_value_id scale_gradient, ons_value_id bias_gradient) {
    ons_value_id scale = ons_gradient_input(g, 1);
    ons_value_id square = ons_make2(g, &ons_op_add, ons_gradient_input(g, 4),
                                    ons_make_scalar(g, ons_attribute_float(g->operands, EPSILON)));
    if (g->wanted[3])
        g->gradients[3] = ons_make1(g, &ons_op_neg,
                                    ons_make2(g, &ons_op_div, ons_make2(g, &ons_op_mul, bias_gradient, scale),
                                              ons_make1(g, &ons_op_sqrt, square)));
    if (g->wanted[4]) {
        ons_value_id product = ons_make2(g, &ons_op_mul, scale_gradient, scale);
        g->gradients[4] =
            ons_make2(g, &ons_op_div, ons_make2(g, &ons_op_mul, product, ons_make_scalar(g, -0.5)), square);
    }
}

static ons_status *batch_normalization_gradient(ons_gradient *g) {
    if (is_training(g->operands))
        return ons_node_error(g->operands, "the training form has no gradient before a mode is chosen for it");
    for (uint32_t i = 1; i < ons_graph_node(g->builder->graph, g->node)->output_count; ++i)
        if (g->cotangents[i] != ONS_NONE)
            return ons_node_error(g->operands,
                                  "the statistics are not differentiable; use the normalised output alone");
    bool wanted[3] = {g->wanted[0], g->wanted[1] || g->wanted[4], g->wanted[2] || g->wanted[3]};
    ons_value_id made[3];
    ons_build_node(g->builder, &ons_op_batch_normalization_gradient,
                   ONS_IN(g->cotangents[0], ons_gradient_input(g, 0), ons_gradient_input(g, 1),
                          ons_gradient_input(g, 3), ons_gradient_input(g, 4)),
                   ONS_WITH(ONS_AT_INT(0, 1), ONS_AT_FLOAT(1, ons_attribute_float(g->operands, EPSILON))), 3, wanted,
                   made);
    for (uint32_t i = 0; i < 3; ++i)
        if (g->wanted[i]) g->gradients[i] = made[i];
    if (g->wanted[3] || g->wanted[4]) differentiate_statistics(g, made[1], made[2]);
    return NULL;
}

/* Older forms: statistics by position (`spatial` 0) are not supported; more than one output means training. */
static ons_status *batch_normalization_upgrade(ons_upgrade *u) {
    const ons_attribute *spatial = ons_upgrade_find(u, "spatial");
    ONS_CHECK(spatial == NULL || spatial->i != 0, ONS_UNSUPPORTED,
              "node '%s' (BatchNormalization): spatial = 0 is not supported; export with a newer opset", u->node_name);
    ons_upgrade_remove(u, "spatial");
    ons_upgrade_remove(u, "is_test");
    if (u->opset >= 14) return NULL;
    bool training = false;
    for (size_t i = 1; i < u->outputs.count; ++i) training |= u->outputs.items[i] != ONS_NONE;
    return ons_upgrade_set(u, "training_mode", (ons_attribute){.kind = ONS_ATTRIBUTE_INT, .i = training});
}

static ons_status *batch_normalization_training_form(ons_replacement *m, const ons_mode *mode) {
    const ons_operands *o = m->operands;
    double epsilon = ons_attribute_float(o, EPSILON), momentum = ons_attribute_float(o, MOMENTUM);
    bool train =
        mode->training && (mode->batchnorm == ONS_AS_TRAINING || (mode->batchnorm == ONS_AS_GRAPH && is_training(o)));
    if (!train && !is_training(o)) return NULL;
    ons_inputs inputs = {m->inputs, 5};
    bool wanted[5] = {true, train, train, false, false};
    ons_value_id made[5] = {ONS_NONE, ONS_NONE, ONS_NONE, ONS_NONE, ONS_NONE};
    /* Statistics that training keeps follow the framework that the model comes from; those handed in, the standard. */
    bool kept = ons_graph_value(m->builder->graph, m->inputs[4])->kind == ONS_BUFFER;
    if (train)
        ons_build_node(m->builder, &ons_op_batch_normalization_training, inputs,
                       ONS_WITH(ONS_AT_FLOAT(EPSILON, epsilon), ONS_AT_FLOAT(MOMENTUM, momentum), ONS_AT_INT(2, kept),
                                ONS_AT_INT(3, mode->replicas > 1 ? mode->replicas : 1)),
                       5, wanted, made);
    else
        ons_build_node(m->builder, &ons_op_batch_normalization, inputs,
                       ONS_WITH(ONS_AT_FLOAT(EPSILON, epsilon), ONS_AT_FLOAT(MOMENTUM, momentum)), 1, wanted, made);
    if (!train) { /* inference leaves the statistics as they are */
        made[1] = m->inputs[3];
        made[2] = m->inputs[4];
    }
    for (uint32_t i = 0; i < o->output_count && i < 5; ++i) m->outputs[i] = made[i];
    m->replaced = true;
    return NULL;
}

ONS_DEFINE_OPERATOR(batch_normalization, "BatchNormalization", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(5, 5, 1, 5),
                    ONS_ATTRIBUTES(ONS_FLOAT_ATTRIBUTE("epsilon", 1e-5), ONS_FLOAT_ATTRIBUTE("momentum", 0.9),
                                   ONS_INT_ATTRIBUTE("training_mode", 0)),
                    ONS_INFER(ons_batch_infer), ONS_COST(batch_normalization_cost),
                    ONS_GRADIENT_RULE(batch_normalization_gradient, ONS_ALL_INPUTS),
                    ONS_SAVES(ONS_INPUT_BIT(0) | ONS_INPUT_BIT(1) | ONS_INPUT_BIT(3) | ONS_INPUT_BIT(4), 0),
                    ONS_ROLES_WITH_FULL(ONS_NO_ROLE, ONS_TRAIT_ANY_PRECISION, ONS_INPUT_BIT(3) | ONS_INPUT_BIT(4),
                                        ONS_INPUT_BIT(1) | ONS_INPUT_BIT(2)),
                    ONS_NO_ALIASES, ONS_CHOOSES_LAYOUT(batch_normalization_choose),
                    ONS_TRAINING_FORMS(batch_normalization_upgrade, ONS_NO_PATTERNS, batch_normalization_training_form,
                                       ONS_IN_INFERENCE("training_mode", ONS_VARIADIC, 1)),
                    ONS_REFERENCE(batch_normalization_reference));
