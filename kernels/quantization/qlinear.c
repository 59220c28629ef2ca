#include "kernels/quantization/qlinear.h"

#include <stdlib.h>

static ons_status *check_scale(const ons_operands *o, uint32_t input, int64_t count) {
    const ons_shape *scale = &o->inputs[input].shape, *zero = &o->inputs[input + 1].shape;
    int64_t scales = ons_shape_elements(scale), zeros = ons_shape_elements(zero);
    ONS_TRY(ons_need_float(o, input));
    if ((scales != 1 && scales != count) || (zeros != 1 && zeros != count))
        return ons_node_error(o, "scales and zero points of input %u must be one number or %lld", input,
                              (long long)count);
    return NULL;
}

ons_status *ons_qlinear_check(const ons_operands *o, int64_t rows, int64_t columns) {
    double low, high;
    for (uint32_t input = ONS_Q_A; input <= ONS_Q_B; input += ONS_Q_B) {
        ons_dtype dtype = o->inputs[input].dtype;
        if (dtype != ONS_INT8 && dtype != ONS_UINT8)
            return ons_node_error(o, "input %u is %s; int8 or uint8 is needed", input, ons_dtype_name(dtype));
        if (o->inputs[input + 2].dtype != dtype)
            return ons_node_error(o, "the zero point of input %u is of another type", input);
    }
    ONS_TRY(check_scale(o, ONS_Q_A_SCALE, rows));
    ONS_TRY(check_scale(o, ONS_Q_B_SCALE, columns));
    ONS_TRY(check_scale(o, ONS_Q_Y_SCALE, 1));
    if (!ons_quantized_range(o->inputs[ONS_Q_Y_ZERO].dtype, &low, &high))
        return ons_node_error(o, "the result's zero point is %s", ons_dtype_name(o->inputs[ONS_Q_Y_ZERO].dtype));
    return NULL;
}

double *ons_qlinear_lift(const ons_operands *o, uint32_t input, const void *const *inputs, int64_t inner,
                         int64_t length) {
    int64_t n = ons_elements(&o->inputs[input]), zeros = ons_elements(&o->inputs[input + 2]);
    const int64_t *x = inputs[input], *zero = inputs[input + 2];
    double *lifted = malloc(((size_t)n + 1) * sizeof *lifted);
    for (int64_t i = 0; lifted != NULL && i < n; ++i)
        lifted[i] = (double)(x[i] - zero[zeros == 1 ? 0 : i / inner % length]);
    return lifted;
}

static float scale_at(const ons_operands *o, const void *const *inputs, uint32_t input, int64_t i) {
    return (float)((const double *)inputs[input])[ons_elements(&o->inputs[input]) == 1 ? 0 : i];
}

/* The factor in float, as other engines have it. */
int64_t ons_qlinear_finish(const ons_operands *o, const void *const *inputs, double sum, int64_t a, int64_t b) {
    double low, high;
    ons_quantized_range(o->outputs[0].dtype, &low, &high);
    float factor = scale_at(o, inputs, ONS_Q_A_SCALE, a) * scale_at(o, inputs, ONS_Q_B_SCALE, b) /
                   scale_at(o, inputs, ONS_Q_Y_SCALE, 0);
    double q = rint((double)((float)sum * factor)) + (double)*(const int64_t *)inputs[ONS_Q_Y_ZERO];
    return isnan(q) ? 0 : (int64_t)fmin(fmax(q, low), high);
}
