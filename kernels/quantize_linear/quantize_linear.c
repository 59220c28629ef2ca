/* QuantizeLinear: clip(round(x / scale) + zero point). No gradient comes through the integers; together with the
 * DequantizeLinear behind it, it becomes FakeQuantize, which has one. */
#include "kernels/quantize_linear/quantize_linear_node.h"

#include "graph/small_types.h"
#include "kernels/common/elementwise/unary.h"
#include "kernels/quantization/quantization.h"

static ons_status *quantize_linear_infer(ons_operands *o) {
    ons_dtype x = o->inputs[X].dtype, dtype = (ons_dtype)ons_attribute_int(o, OUTPUT_DTYPE);
    ons_scales s;
    double low, high;
    if (!ons_dtype_is_float(x) && x != ONS_INT32)
        return ons_node_error(o, "%s cannot be quantised; a float type or int32 is needed", ons_dtype_name(x));
    ONS_TRY(ons_need_float(o, SCALE));
    if (ons_has_input(o, ZERO) && dtype != ONS_NO_DTYPE && o->inputs[ZERO].dtype != dtype)
        return ons_node_error(o, "the zero point is %s, not of the output's type",
                              ons_dtype_name(o->inputs[ZERO].dtype));
    if (dtype == ONS_NO_DTYPE) dtype = ons_has_input(o, ZERO) ? o->inputs[ZERO].dtype : ONS_UINT8;
    if (!ons_quantized_range(dtype, &low, &high) && !ons_is_small_float(dtype))
        return ons_node_error(
            o, "element type %lld cannot be quantised to; integers of up to 16 bits and 8-bit floats can",
            (long long)dtype);
    ONS_TRY(find_scales(o, &s));
    o->outputs[0] = ons_type_make(dtype, o->inputs[X].shape);
    return NULL;
}

static void quantize_linear_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                      void *const *outputs) {
    ons_scales s;
    double low, high;
    ons_resolved(find_scales(o, &s));
    ons_quantized_range(o->outputs[0].dtype, &low, &high);
    bool is_float = ons_dtype_is_float(o->inputs[X].dtype), saturate = ons_attribute_int(o, SATURATE) != 0;
    ons_dtype dtype = o->outputs[0].dtype;
    for (int64_t i = 0; i < s.elements; ++i) {
        int64_t k = ons_scale_of(&s, i);
        float x = is_float ? (float)((const double *)inputs[X])[i] : (float)((const int64_t *)inputs[X])[i];
        if (ons_is_small_float(dtype)) { /* rounded by the cast; the zero point can only be 0 */
            ((double *)outputs[0])[i] = ons_small_float_round(dtype, x / (float)((const double *)inputs[SCALE])[k],
                                                              saturate, ONS_POWER_NEAREST);
            continue;
        }
        float zero = ons_has_input(o, ZERO) ? (float)((const int64_t *)inputs[ZERO])[k] : 0;
        float q = ons_quantize(x, (float)((const double *)inputs[SCALE])[k], zero, (float)low, (float)high);
        ((int64_t *)outputs[0])[i] = isnan(q) ? 0 : (int64_t)q;
    }
}

ONS_DEFINE_OPERATOR(quantize_linear, "QuantizeLinear", ONS_ONNX(10, ONS_NEWEST), ONS_ARITY(2, 3, 1, 1),
                    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("axis", 1), ONS_INT_ATTRIBUTE("block_size", 0),
                                   ONS_INT_ATTRIBUTE("output_dtype", 0), ONS_INT_ATTRIBUTE("saturate", 1),
                                   ONS_INT_ATTRIBUTE("precision", 0)),
                    ONS_INFER(quantize_linear_infer), ONS_COST(ons_cost_elementwise),
                    ONS_GRADIENT_ON_REQUEST(ons_gradient_stops, ONS_INPUT_BIT(X) | ONS_INPUT_BIT(SCALE),
                                            ONS_INPUT_BIT(SCALE)),
                    ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR, ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(quantize_linear_reference));
