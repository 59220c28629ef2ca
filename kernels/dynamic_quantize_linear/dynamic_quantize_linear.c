/* DynamicQuantizeLinear: to uint8, with scale and zero point from the least and the largest element. With the
 * DequantizeLinear behind it, it becomes FakeQuantize, through which a gradient flows. */
#include "kernels/common/elementwise/unary.h"
#include "kernels/quantization/quantization.h"

static ons_status *dynamic_quantize_linear_infer(ons_operands *o) {
    ONS_TRY(ons_need_float(o, 0));
    o->outputs[0] = ons_type_make(ONS_UINT8, o->inputs[0].shape);
    if (o->output_count > 1) o->outputs[1] = ons_type_make(o->inputs[0].dtype, (ons_shape){0});
    if (o->output_count > 2) o->outputs[2] = ons_type_make(ONS_UINT8, (ons_shape){0});
    return NULL;
}

/* In float, as the specification's own example has it: a tie may fall the other way in double. */
static void dynamic_quantize_linear_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                              void *const *outputs) {
    const double *x = inputs[0];
    int64_t n = ons_elements(&o->inputs[0]);
    float low = 0, high = 0; /* 0 can always be said */
    for (int64_t i = 0; i < n; ++i) {
        low = fminf(low, (float)x[i]);
        high = fmaxf(high, (float)x[i]);
    }
    float scale = (high - low) / 255;
    float zero = scale > 0 ? fminf(fmaxf(rintf(-low / scale), 0), 255) : 0;
    for (int64_t i = 0; i < n; ++i) {
        float q = scale > 0 ? ons_quantize((float)x[i], scale, zero, 0, 255) : 0;
        ((int64_t *)outputs[0])[i] = isnan(q) ? 0 : (int64_t)q;
    }
    if (ons_has_output(o, 1) && outputs[1] != NULL) *(double *)outputs[1] = (double)scale;
    if (ons_has_output(o, 2) && outputs[2] != NULL) *(int64_t *)outputs[2] = isnan(zero) ? 0 : (int64_t)zero;
}

ONS_DEFINE_OPERATOR(dynamic_quantize_linear, "DynamicQuantizeLinear", ONS_ONNX(11, ONS_NEWEST), ONS_ARITY(1, 1, 1, 3),
                    ONS_NO_ATTRIBUTES, ONS_INFER(dynamic_quantize_linear_infer), ONS_COST(ons_cost_elementwise),
                    ONS_GRADIENT_RULE(ons_gradient_stops, ONS_ALL_INPUTS), ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR,
                    ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(dynamic_quantize_linear_reference));
