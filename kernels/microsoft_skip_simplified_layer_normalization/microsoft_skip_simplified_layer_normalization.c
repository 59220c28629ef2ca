/* com.microsoft.SkipSimplifiedLayerNormalization: x + skip + bias divided by the root of its mean square, over the last
 * axis; output 3 is the sum. */
#include <stdlib.h>

#include "kernels/microsoft/expanded_norm.h"
#include "kernels/operators.h"

enum { X, SKIP, SCALE, BIAS };

static ons_status *microsoft_skip_simplified_layer_normalization_infer(ons_operands *o) {
    return ons_skip_infer(o, BIAS);
}

static ons_status *microsoft_skip_simplified_layer_normalization_expand(ons_replacement *m) {
    double epsilon = ons_attribute_float(m->operands, 0);
    ons_value_id sum = ons_skip_sum(m, BIAS);
    ons_value_id result = ons_build(m->builder, &ons_op_simplified_layer_normalization, ONS_IN(sum, m->inputs[SCALE]),
                                    ONS_WITH(ONS_AT_INT(0, -1), ONS_AT_FLOAT(1, epsilon)));
    return ons_skip_finish(m, result, sum);
}

static void microsoft_skip_simplified_layer_normalization_reference(const ons_operands *o, const ons_step *step,
                                                                    const void *const *inputs, void *const *outputs) {
    int64_t n = ons_elements(&o->inputs[X]), columns = o->inputs[SCALE].shape.dims[0];
    double *sum = malloc(((size_t)n + 1) * sizeof *sum);
    for (int64_t i = 0; sum != NULL && i < n; ++i) sum[i] = ons_skip_element(o, inputs, BIAS, i);
    ons_norm_rows norm = {.rows = columns == 0 ? 0 : n / columns,
                          .columns = columns,
                          .epsilon = ons_attribute_float(o, 0),
                          .scale = inputs[SCALE]};
    if (sum != NULL) ons_norm_reference(&norm, sum, outputs[0], NULL);
    for (int64_t i = 0; sum != NULL && ons_has_output(o, 3) && outputs[3] != NULL && i < n; ++i)
        ((double *)outputs[3])[i] = sum[i];
    free(sum);
}

ONS_DEFINE_EXPANSION(microsoft_skip_simplified_layer_normalization, "SkipSimplifiedLayerNormalization", ONS_MICROSOFT,
                     ONS_ARITY(3, 4, 1, 4), ONS_ATTRIBUTES(ONS_FLOAT_ATTRIBUTE("epsilon", 1e-12)),
                     microsoft_skip_simplified_layer_normalization_infer, ons_cost_elementwise, ONS_ALL_INPUTS,
                     microsoft_skip_simplified_layer_normalization_expand,
                     microsoft_skip_simplified_layer_normalization_reference);
