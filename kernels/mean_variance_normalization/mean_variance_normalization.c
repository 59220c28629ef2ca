/* MeanVarianceNormalization: less the mean and divided by the standard deviation along axes. */
#include <math.h>

#include "graph/passes/replacement.h"
#include "kernels/common/layout/axes.h"
#include "kernels/common/operator/checks.h"
#include "kernels/operators.h"

enum { AXES };

#define EPSILON 1e-9 /* as the standard has it, beside the deviation */

/* The axes that the statistics are taken over; without the attribute 0, 2 and 3. */
static ons_status *find_axes(const ons_operands *o, const int64_t **axes, uint32_t *count,
                             bool chosen[static ONS_RANK_MAX]) {
    static const int64_t usual[] = {0, 2, 3};
    *axes = ons_has_attribute(o, AXES) ? o->attributes[AXES].ints : usual;
    *count = ons_has_attribute(o, AXES) ? o->attributes[AXES].count : 3;
    return ons_node_axes(o, *axes, *count, o->inputs[0].shape.rank, chosen);
}

static ons_status *mean_variance_normalization_infer(ons_operands *o) {
    const int64_t *axes;
    uint32_t count;
    bool chosen[ONS_RANK_MAX];
    ONS_TRY(ons_need_float(o, 0));
    ONS_TRY(find_axes(o, &axes, &count, chosen));
    return ons_infer_like_first(o);
}

static ons_status *mean_variance_normalization_expand(ons_replacement *m) {
    const ons_operands *o = m->operands;
    ons_builder *b = m->builder;
    const int64_t *axes;
    uint32_t count;
    bool chosen[ONS_RANK_MAX];
    ons_resolved(find_axes(o, &axes, &count, chosen));
    ons_value_id over = ons_build_integers(b, axes, count);
    ons_value_id mean = ons_build(b, &ons_op_reduce_mean, ONS_IN(m->inputs[0], over), ONS_DEFAULTS);
    ons_value_id centred = ons_build(b, &ons_op_sub, ONS_IN(m->inputs[0], mean), ONS_DEFAULTS);
    ons_value_id square = ons_build(b, &ons_op_mul, ONS_IN(centred, centred), ONS_DEFAULTS);
    ons_value_id variance = ons_build(b, &ons_op_reduce_mean, ONS_IN(square, over), ONS_DEFAULTS);
    ons_value_id deviation = ons_build(b, &ons_op_sqrt, ONS_IN(variance), ONS_DEFAULTS);
    ons_value_id epsilon = ons_build_scalar(b, o->inputs[0].dtype, EPSILON);
    ons_value_id divisor = ons_build(b, &ons_op_add, ONS_IN(deviation, epsilon), ONS_DEFAULTS);
    m->outputs[0] = ons_build(b, &ons_op_div, ONS_IN(centred, divisor), ONS_DEFAULTS);
    m->replaced = true;
    return NULL;
}

/* Whether two elements share their statistics: equal indices on all axes that are not chosen. */
static bool are_together(const ons_shape *shape, const bool *chosen, const int64_t *left, const int64_t *right) {
    for (uint32_t axis = 0; axis < shape->rank; ++axis)
        if (!chosen[axis] && left[axis] != right[axis]) return false;
    return true;
}

static void mean_variance_normalization_reference(const ons_operands *o, const ons_step *step,
                                                  const void *const *inputs, void *const *outputs) {
    const int64_t *axes;
    uint32_t count;
    bool chosen[ONS_RANK_MAX] = {false};
    ons_resolved(find_axes(o, &axes, &count, chosen));
    const ons_shape *shape = &o->inputs[0].shape;
    const double *x = inputs[0];
    int64_t n = ons_elements(&o->inputs[0]);
    for (int64_t i = 0; i < n; ++i) {
        int64_t here[ONS_RANK_MAX], there[ONS_RANK_MAX], members = 0;
        double mean = 0, variance = 0;
        ons_unravel(shape, i, here);
        for (int pass = 0; pass < 2; ++pass) {
            members = 0;
            for (int64_t k = 0; k < n; ++k) {
                ons_unravel(shape, k, there);
                if (!are_together(shape, chosen, here, there)) continue;
                ++members;
                if (pass == 0)
                    mean += x[k];
                else
                    variance += (x[k] - mean) * (x[k] - mean);
            }
            if (pass == 0) mean /= (double)members;
        }
        ((double *)outputs[0])[i] = (x[i] - mean) / (sqrt(variance / (double)members) + EPSILON);
    }
}

/* Two sums, difference, square and division: five operations an element. */
static ons_cost mean_variance_normalization_cost(const ons_operands *o) {
    return (ons_cost){5 * (double)ons_elements(&o->inputs[0]), ons_operand_bytes(o)};
}

ONS_DEFINE_EXPANSION(mean_variance_normalization, "MeanVarianceNormalization", ONS_ONNX(9, ONS_NEWEST),
                     ONS_ARITY(1, 1, 1, 1), ONS_ATTRIBUTES(ONS_OPTIONAL_ATTRIBUTE("axes", ONS_ATTRIBUTE_INTS)),
                     mean_variance_normalization_infer, mean_variance_normalization_cost, ONS_ALL_INPUTS,
                     mean_variance_normalization_expand, mean_variance_normalization_reference);
