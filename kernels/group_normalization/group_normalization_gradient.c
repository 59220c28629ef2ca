/* Gradients of GroupNormalization and InstanceNormalization: from cotangent, x, scale, and the saved mean and inverse
 * deviation of every group. */
#include "kernels/group_normalization/group_normalization_gradient.h"

#include "kernels/normalization/group_norm.h"

static ons_status *group_normalization_gradient_infer(ons_operands *o) {
    ons_group_norm norm;
    ONS_TRY(find_norm(o, &norm));
    ons_type saved = ons_group_norm_saved(&norm);
    if (!ons_shape_equal(&o->inputs[0].shape, &o->inputs[1].shape) ||
        !ons_shape_equal(&o->inputs[3].shape, &saved.shape) || !ons_shape_equal(&o->inputs[4].shape, &saved.shape))
        return ons_node_error(o, "cotangent, input and saved statistics do not fit each other");
    o->outputs[0] = ons_type_make(o->inputs[1].dtype, o->inputs[1].shape);
    for (uint32_t i = 1; i < o->output_count; ++i) o->outputs[i] = o->inputs[2];
    return NULL;
}

/* Normalisation 2, the two sums 3, dx 4. */
static ons_cost group_normalization_gradient_cost(const ons_operands *o) {
    return (ons_cost){9 * (double)ons_elements(&o->inputs[1]), ons_operand_bytes(o)};
}

static void group_normalization_gradient_reference(const ons_operands *o, const ons_step *step,
                                                   const void *const *inputs, void *const *outputs) {
    ons_group_norm norm;
    ons_resolved(find_norm(o, &norm));
    const double *scales = inputs[2], *means = inputs[3], *inverses = inputs[4];
    double *dscale = o->output_count > 1 ? outputs[1] : NULL, *dbias = o->output_count > 2 ? outputs[2] : NULL;
    int64_t count = norm.width * norm.size.positions;
    for (int64_t i = 0, n = ons_elements(&o->inputs[2]); i < n; ++i) {
        if (dscale != NULL) dscale[i] = 0;
        if (dbias != NULL) dbias[i] = 0;
    }
    for (int64_t i = 0; i < norm.size.batch * norm.groups; ++i) {
        const double *dy = (const double *)inputs[0] + i * count, *x = (const double *)inputs[1] + i * count;
        double *dx = (double *)outputs[0], r = inverses[i], first = 0, second = 0;
        for (int pass = 0; pass < 2; ++pass)
            for (int64_t k = 0; k < count; ++k) {
                int64_t group = i % norm.groups;
                int64_t c = norm.scale_per_group ? group : group * norm.width + k / norm.size.positions;
                double n = (x[k] - means[i]) * r, a = dy[k] * scales[c];
                if (pass == 1) {
                    if (dx != NULL) dx[i * count + k] = r * (a - first - n * second);
                    continue;
                }
                first += a / (double)count;
                second += a * n / (double)count;
                if (dscale != NULL) dscale[c] += dy[k] * n;
                if (dbias != NULL) dbias[c] += dy[k];
            }
    }
}

ONS_DEFINE_OPERATOR(group_normalization_gradient, "GroupNormalizationGradient", ONS_INTERNAL, ONS_ARITY(5, 5, 0, 3),
                    ONS_ATTRIBUTES(ONS_REQUIRED_ATTRIBUTE("num_groups", ONS_ATTRIBUTE_INT),
                                   ONS_INT_ATTRIBUTE("scale_per_group", 0)),
                    ONS_INFER(group_normalization_gradient_infer), ONS_COST(group_normalization_gradient_cost),
                    ONS_NOT_DIFFERENTIABLE("it is itself a gradient"), ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR,
                    ONS_NO_ALIASES, ONS_CHOOSES_LAYOUT(ons_group_norm_choose), ONS_ONE_FORM,
                    ONS_REFERENCE(group_normalization_gradient_reference));
