#include "kernels/normalization/group_norm.h"

#include "kernels/operators.h"

#include <math.h>

ons_status *ons_group_norm_of(const ons_operands *o, const ons_type *x, const ons_type *scale, int64_t groups,
                              bool scale_per_group, ons_group_norm *norm) {
    if (!ons_dtype_is_float(x->dtype))
        return ons_node_error(o, "normalisation of %s is not supported", ons_dtype_name(x->dtype));
    if (x->shape.rank < 2) return ons_node_error(o, "the input needs batch and channels");
    int64_t channels = x->shape.dims[1];
    if (groups < 1 || channels % groups != 0)
        return ons_node_error(o, "%lld channels cannot be cut into %lld groups", (long long)channels,
                              (long long)groups);
    int64_t scales = scale_per_group ? groups : channels;
    if (scale->shape.rank != 1 || scale->shape.dims[0] != scales || scale->dtype != x->dtype)
        return ons_node_error(o, "scale and bias must be vectors of %lld %s", (long long)scales,
                              ons_dtype_name(x->dtype));
    *norm = (ons_group_norm){ons_channels_of(x), groups, channels / groups, scale_per_group};
    return NULL;
}

ons_type ons_group_norm_saved(const ons_group_norm *norm) {
    return ons_type_make(ONS_FLOAT32, (ons_shape){.rank = 2, .dims = {norm->size.batch, norm->groups}});
}

ons_status *ons_group_norm_choose(const ons_operands *o, ons_layout *inputs, ons_layout *outputs) {
    if (ons_layout_is_for_cuda(o)) return NULL; /* that kernel wants groups side by side: ONNX's order for all */
    ons_channels_choose(o, inputs, outputs);
    return NULL;
}

ons_status *ons_group_norm_infer(ons_operands *o, const ons_group_norm *norm) {
    if (!ons_type_equal(&o->inputs[1], &o->inputs[2]))
        return ons_node_error(o, "scale and bias must be vectors of one size");
    o->outputs[0] = ons_type_make(o->inputs[0].dtype, o->inputs[0].shape);
    for (uint32_t i = 1; i < o->output_count; ++i) o->outputs[i] = ons_group_norm_saved(norm);
    return NULL;
}

void ons_group_norm_reference(const ons_operands *o, const ons_group_norm *norm, double epsilon,
                              const void *const *inputs, void *const *outputs) {
    const double *scale = inputs[1], *bias = inputs[2];
    double *means = o->output_count > 1 ? outputs[1] : NULL, *inverses = o->output_count > 2 ? outputs[2] : NULL;
    int64_t count = norm->width * norm->size.positions;
    for (int64_t i = 0; i < norm->size.batch * norm->groups; ++i) {
        const double *x = (const double *)inputs[0] + i * count;
        double *y = (double *)outputs[0] + i * count, mean = 0, variance = 0;
        for (int64_t k = 0; k < count; ++k) mean += x[k] / (double)count;
        for (int64_t k = 0; k < count; ++k) variance += (x[k] - mean) * (x[k] - mean) / (double)count;
        double inverse = 1 / sqrt(variance + epsilon);
        for (int64_t k = 0; k < count; ++k) {
            int64_t group = i % norm->groups;
            int64_t c = norm->scale_per_group ? group : group * norm->width + k / norm->size.positions;
            y[k] = (x[k] - mean) * inverse * scale[c] + bias[c];
        }
        if (means != NULL) means[i] = mean;
        if (inverses != NULL) inverses[i] = inverse;
    }
}

ons_status *ons_group_norm_build_gradient(ons_gradient *g, const ons_group_norm *norm) {
    ONS_TRY(ons_refuse_cotangents(g, 1));
    ons_build_node(g->builder, &ons_op_group_normalization_gradient,
                   ONS_IN(g->cotangents[0], ons_gradient_input(g, 0), ons_gradient_input(g, 1),
                          ons_gradient_output(g, 1), ons_gradient_output(g, 2)),
                   ONS_WITH(ONS_AT_INT(0, norm->groups), ONS_AT_INT(1, norm->scale_per_group)), 3, g->wanted,
                   g->gradients);
    return NULL;
}
