/* LayerNormalization: (x - mean) / √(variance + epsilon) × scale + bias over the axis and all after it; mean and
 * inverse standard deviation of every row are saved. */
#include "kernels/layer_normalization/layer_normalization.h"

#include <math.h>

#include "graph/passes/autograd.h"
#include "kernels/common/operator/rules.h"
#include "kernels/layer_normalization/patterns.h"

extern const ons_operator ons_op_add;
extern const ons_operator ons_op_expand;
extern const ons_operator ons_op_layer_normalization_gradient;
extern const ons_operator ons_op_mul;
extern const ons_operator ons_op_sub;

static ons_status *layer_normalization_infer(ons_operands *o) {
    ons_layer_norm norm;
    ONS_TRY(find_norm(o, &norm));
    ons_type rows = ons_type_make(ONS_FLOAT32, o->inputs[0].shape);
    for (uint32_t i = norm.axis; i < rows.shape.rank; ++i) rows.shape.dims[i] = 1;
    o->outputs[0] = o->inputs[0];
    for (uint32_t i = 1; i < o->output_count; ++i) o->outputs[i] = rows;
    return NULL;
}

/* Mean 1, variance 3, normalisation 2, scale and bias 2. */
static ons_cost layer_normalization_cost(const ons_operands *o) {
    return (ons_cost){8 * (double)ons_elements(&o->inputs[0]), ons_operand_bytes(o)};
}

static void layer_normalization_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                          void *const *outputs) {
    (void)step;
    ons_layer_norm norm;
    ons_resolved(find_norm(o, &norm));
    const double *scale = inputs[1], *bias = ons_has_input(o, 2) ? inputs[2] : NULL;
    double *means = outputs[1], *deviations = outputs[2];
    for (int64_t row = 0; row < norm.rows; ++row) {
        const double *x = (const double *)inputs[0] + row * norm.columns;
        double *y = (double *)outputs[0] + row * norm.columns, mean = 0, variance = 0;
        for (int64_t i = 0; i < norm.columns; ++i) mean += x[i] / (double)norm.columns;
        for (int64_t i = 0; i < norm.columns; ++i) variance += (x[i] - mean) * (x[i] - mean) / (double)norm.columns;
        double inverse = 1 / sqrt(variance + ons_attribute_float(o, EPSILON));
        for (int64_t i = 0; i < norm.columns; ++i)
            y[i] = (x[i] - mean) * inverse * scale[i] + (bias == NULL ? 0 : bias[i]);
        if (means != NULL) means[row] = mean;
        if (deviations != NULL) deviations[row] = inverse;
    }
}

/* What comes to x through the mean and through r, the inverse deviation: with n numbers in a row,
 *   d mean ÷ n - d r · r³ (x - mean) ÷ n */
static ons_value_id differentiate_statistics(ons_gradient *g, ons_value_id mean, ons_value_id inverse) {
    const ons_shape *shape = &g->operands->inputs[0].shape;
    ons_layer_norm norm = {0};
    ons_builder_fail(g->builder, find_norm(g->operands, &norm));
    ons_value_id share = ons_make_scalar(g, 1 / (double)(norm.columns > 0 ? norm.columns : 1));
    ons_value_id by_row = mean == ONS_NONE ? ONS_NONE : ons_make2(g, &ons_op_mul, mean, share);
    if (inverse == ONS_NONE)
        return ons_make2(g, &ons_op_expand, by_row, ons_build_integers(g->builder, shape->dims, shape->rank));
    ons_value_id r = ons_gradient_output(g, 2), cube = ons_make2(g, &ons_op_mul, r, ons_make2(g, &ons_op_mul, r, r));
    ons_value_id factor = ons_make2(g, &ons_op_mul, ons_make2(g, &ons_op_mul, inverse, cube), share);
    ons_value_id centred = ons_make2(g, &ons_op_sub, ons_gradient_output(g, 1), ons_gradient_input(g, 0));
    ons_value_id through = ons_make2(g, &ons_op_mul, centred, factor);
    return by_row == ONS_NONE ? through : ons_make2(g, &ons_op_add, through, by_row);
}

static void differentiate_result(ons_gradient *g) {
    ons_builder *builder = g->builder;
    ons_value_id scale = ons_gradient_input(g, 1);
    bool has_bias = ons_has_input(g->operands, 2);
    bool wanted[3] = {g->wanted[0], g->wanted[1], has_bias && g->wanted[2]};
    ons_value_id results[3];
    ons_value_id inputs[7] = {ONS_NONE,
                              ons_gradient_input(g, 0),
                              scale,
                              ons_gradient_output(g, 1),
                              ons_gradient_output(g, 2),
                              ons_gradient_take_flow(g, 0)};
    ons_gradient_take_summands(g, 0, &inputs[0], &inputs[6]);
    ons_build_node(builder, &ons_op_layer_normalization_gradient,
                   (ons_inputs){inputs, ons_norm_gradient_inputs(inputs, 5)},
                   ONS_WITH(ONS_AT_INT(0, ons_attribute_int(g->operands, AXIS))), 3, wanted, results);
    for (uint32_t i = 0; i < (has_bias ? 3u : 2u); ++i) g->gradients[i] = results[i];
    if (!wanted[2]) return;
    /* It comes out in the scale's shape; the bias may have ones in front where the scale has none. */
    const ons_shape *shape = &g->operands->inputs[2].shape;
    if (!ons_shape_equal(shape, &g->operands->inputs[1].shape))
        g->gradients[2] = ons_build(builder, ons_registry_role(builder->registry, ONS_ROLE_RESHAPE),
                                    ONS_IN(results[2], ons_build_integers(builder, shape->dims, shape->rank)),
                                    ONS_WITH(ONS_AT_INT(0, 1)));
}

static ons_status *layer_normalization_gradient(ons_gradient *g) {
    /* The statistics are float32 whatever x is. */
    if (g->operands->inputs[0].dtype != ONS_FLOAT32) ONS_TRY(ons_refuse_cotangents(g, 1));
    uint32_t outputs = ons_graph_node(g->builder->graph, g->node)->output_count;
    ons_value_id mean = outputs > 1 ? g->cotangents[1] : ONS_NONE, inverse = outputs > 2 ? g->cotangents[2] : ONS_NONE;
    if (g->cotangents[0] != ONS_NONE) differentiate_result(g);
    if ((mean == ONS_NONE && inverse == ONS_NONE) || !g->wanted[0]) return NULL;
    ons_value_id more = differentiate_statistics(g, mean, inverse);
    g->gradients[0] = g->cotangents[0] == ONS_NONE ? more : ons_make2(g, &ons_op_add, g->gradients[0], more);
    return NULL;
}

/* From opset 17 in the standard; ONNX Runtime's optimiser writes it into files of any opset. */
ONS_DEFINE_OPERATOR(layer_normalization, "LayerNormalization", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(2, 3, 1, 3),
                    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("axis", -1), ONS_FLOAT_ATTRIBUTE("epsilon", 1e-5),
                                   ONS_INT_ATTRIBUTE("stash_type", 1)),
                    ONS_INFER(layer_normalization_infer), ONS_COST(layer_normalization_cost),
                    ONS_GRADIENT_RULE(layer_normalization_gradient, ONS_ALL_INPUTS),
                    ONS_SAVES(ONS_INPUT_BIT(0) | ONS_INPUT_BIT(1), ONS_INPUT_BIT(1) | ONS_INPUT_BIT(2)),
                    ONS_ROLES_WITH_FULL(ONS_NO_ROLE, ONS_TRAIT_ANY_PRECISION | ONS_TRAIT_CHEAP_AGAIN, 0,
                                        ONS_INPUT_BIT(1) | ONS_INPUT_BIT(2)),
                    ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}), ONS_PLAIN_LAYOUT,
                    ONS_FORMS(NULL, ons_layer_norm_patterns, NULL), ONS_REFERENCE(layer_normalization_reference));
