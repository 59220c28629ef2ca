#include "kernels/normalization/rms_norm.h"

#include "graph/passes/autograd.h"
#include "kernels/operators.h"

#include <math.h>

ons_status *ons_rms_norm_find_norm(const ons_operands *o, ons_layer_norm *norm) {
    static const ons_type none = {0};
    return ons_layer_norm_of(o, &o->inputs[0], ons_attribute_int(o, ONS_RMS_AXIS), &o->inputs[1], &none, norm);
}

ons_status *ons_rms_norm_infer(ons_operands *o) {
    ons_layer_norm norm;
    ONS_TRY(ons_rms_norm_find_norm(o, &norm));
    ons_type rows = ons_type_make(ONS_FLOAT32, o->inputs[0].shape);
    for (uint32_t i = norm.axis; i < rows.shape.rank; ++i) rows.shape.dims[i] = 1;
    o->outputs[0] = o->inputs[0];
    for (uint32_t i = 1; i < o->output_count; ++i) o->outputs[i] = rows;
    return NULL;
}

/* Mean of squares 2, normalisation 1, scale 1. */
ons_cost ons_rms_norm_cost(const ons_operands *o) {
    return (ons_cost){4 * (double)ons_elements(&o->inputs[0]), ons_operand_bytes(o)};
}

void ons_rms_norm_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                            void *const *outputs) {
    ons_layer_norm norm;
    ons_resolved(ons_rms_norm_find_norm(o, &norm));
    const double *scale = inputs[1];
    double *inverses = o->output_count > 1 ? outputs[1] : NULL;
    for (int64_t row = 0; row < norm.rows; ++row) {
        const double *x = (const double *)inputs[0] + row * norm.columns;
        double *y = (double *)outputs[0] + row * norm.columns, square = 0;
        for (int64_t i = 0; i < norm.columns; ++i) square += x[i] * x[i] / (double)norm.columns;
        double inverse = 1 / sqrt(square + ons_attribute_float(o, ONS_RMS_EPSILON));
        for (int64_t i = 0; i < norm.columns; ++i) y[i] = x[i] * inverse * scale[i];
        if (inverses != NULL) inverses[row] = inverse;
    }
}

ons_status *ons_rms_norm_gradient(ons_gradient *g) {
    ONS_TRY(ons_refuse_cotangents(g, 1));
    ons_value_id inputs[6] = {ONS_NONE, ons_gradient_input(g, 0), ons_gradient_input(g, 1), ons_gradient_output(g, 1),
                              ons_gradient_take_flow(g, 0)};
    ons_gradient_take_summands(g, 0, &inputs[0], &inputs[5]);
    ons_build_node(g->builder, &ons_op_rms_normalization_gradient,
                   (ons_inputs){inputs, ons_norm_gradient_inputs(inputs, 4)},
                   ONS_WITH(ONS_AT_INT(0, ons_attribute_int(g->operands, ONS_RMS_AXIS))), 2, g->wanted, g->gradients);
    return NULL;
}
