/* QuantizeLinear: clip(round(x / scale) + zero point). No gradient comes through the integers; together with the
 * DequantizeLinear behind it, it becomes FakeQuantize, which has one. */
#include "kernels/quantize_linear/quantize_linear.h"
#include "graph/small_types.h"
#include "kernels/common/quantization.h"
#include "kernels/common/unary.h"

enum { X, SCALE, ZERO };
enum { AXIS, BLOCK, OUTPUT_DTYPE, SATURATE, PRECISION };

static ons_status *find_scales(const ons_operands *o, ons_scales *s) {
    return ons_scales_resolve(o, &o->inputs[X], SCALE, ZERO, ons_attribute_int(o, AXIS), ons_attribute_int(o, BLOCK),
                              s);
}

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
    (void)step;
    ons_scales s;
    double low, high;
    ons_status_free(find_scales(o, &s));
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

static ons_status *quantize_linear_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ons_dtype dtype = o->outputs[0].dtype;
    double low, high;
    if (o->inputs[X].dtype != ONS_FLOAT32) return ons_refuse_dtype(o, o->inputs[X].dtype);
    if (o->inputs[SCALE].dtype != ONS_FLOAT32) return ons_refuse_dtype(o, o->inputs[SCALE].dtype);
    if (dtype != ONS_INT8 && dtype != ONS_UINT8) return ons_refuse_dtype(o, dtype);
    void *memory;
    ONS_TRY(ons_prepare_state(p, sizeof(ons_quantize_linear), &memory));
    ons_quantize_linear *state = memory;
    ons_quantized_range(dtype, &low, &high);
    *state = (ons_quantize_linear){
        .has_zero = ons_has_input(o, ZERO), .is_signed = dtype == ONS_INT8, .low = (float)low, .high = (float)high};
    return find_scales(o, &state->scales);
}

/* Bytes of either sign: the low byte of the number is the same. */
static void quantize_linear_run(const ons_launch *launch) {
    const ons_quantize_linear *state = launch->state;
    const ons_scales *s = &state->scales;
    const float *x = launch->inputs[X], *scales = launch->inputs[SCALE];
    const void *zeros = state->has_zero ? launch->inputs[ZERO] : NULL;
    uint8_t *y = launch->outputs[0];
#pragma omp parallel for schedule(static) if (s->elements > ONS_PARALLEL_GRAIN)
    for (int64_t i = 0; i < s->elements; ++i) {
        int64_t k = ons_scale_of(s, i);
        float zero = 0;
        if (zeros != NULL) zero = state->is_signed ? ((const int8_t *)zeros)[k] : ((const uint8_t *)zeros)[k];
        float q = ons_quantize(x[i], scales[k], zero, state->low, state->high);
        y[i] = (uint8_t)(isnan(q) ? 0 : (int)q);
    }
}

static const ons_case quantize_linear_cases[] = {
    {.name = "tensor",
     .inputs = {ONS_F32_IN(-3, 3, 5, 7),
                {.dtype = ONS_FLOAT32, .value_count = 1, .values = {0.01}},
                {.dtype = ONS_UINT8, .value_count = 1, .values = {128}}},
     .flops = 35,
     .no_gradient = true},
    {.name = "no_zero_point",
     .inputs = {ONS_F32_IN(-1, 3, 37), {.dtype = ONS_FLOAT32, .value_count = 1, .values = {0.01}}},
     .flops = 37,
     .no_gradient = true},
    {.name = "ties",
     .inputs = {{.dtype = ONS_FLOAT32,
                 .shape = ONS_DIMS(8),
                 .value_count = 8,
                 .values = {0.5, 1.5, 2.5, -0.5, -1.5, 900, -900, NAN}},
                {.dtype = ONS_FLOAT32, .value_count = 1, .values = {1}},
                {.dtype = ONS_INT8, .value_count = 1, .values = {1}}},
     .flops = 8,
     .no_gradient = true},
    {.name = "axis",
     .inputs = {ONS_F32_IN(-3, 3, 2, 3, 5), ONS_F32_IN(0.01, 0.1, 3), ONS_RANDOM(ONS_INT8, -9, 9, 3)},
     .flops = 30,
     .no_gradient = true},
    {.name = "last_axis",
     .inputs = {ONS_F32_IN(-3, 3, 4, 3), ONS_F32_IN(0.01, 0.1, 3), ONS_RANDOM(ONS_INT16, -9, 9, 3)},
     .settings = {ONS_SET_INT("axis", -1)},
     .flops = 12,
     .no_gradient = true},
    {.name = "blocks",
     .inputs = {ONS_F32_IN(-3, 3, 2, 5, 3), ONS_F32_IN(0.01, 0.1, 2, 3, 3), ONS_RANDOM(ONS_UINT8, 0, 99, 2, 3, 3)},
     .settings = {ONS_SET_INT("axis", 1), ONS_SET_INT("block_size", 2)},
     .flops = 30,
     .no_gradient = true},
    {.name = "output_dtype",
     .inputs = {ONS_F32_IN(-3, 3, 9), {.dtype = ONS_FLOAT32, .value_count = 1, .values = {0.01}}},
     .settings = {ONS_SET_INT("output_dtype", ONS_UINT16)},
     .flops = 9,
     .no_gradient = true},
    {.name = "integers",
     .inputs = {ONS_RANDOM(ONS_INT32, -900, 900, 9), {.dtype = ONS_FLOAT32, .value_count = 1, .values = {3}}},
     .flops = 9},
    {.name = "float8",
     .inputs = {ONS_F32_IN(-900, 900, 9), {.dtype = ONS_FLOAT32, .value_count = 1, .values = {3}}},
     .settings = {ONS_SET_INT("output_dtype", 17)},
     .flops = 9,
     .no_gradient = true},
    {.name = "int4",
     .inputs = {ONS_F32_IN(-3, 3, 9), {.dtype = ONS_FLOAT32, .value_count = 1, .values = {0.3}}},
     .settings = {ONS_SET_INT("output_dtype", 22)},
     .flops = 9,
     .no_gradient = true},
    {.name = "threads",
     .inputs = {ONS_F32_IN(-3, 3, 16, 33, 35), ONS_F32_IN(0.01, 0.1, 33), ONS_RANDOM(ONS_INT8, -9, 9, 33)},
     .flops = 18480,
     .no_gradient = true},
    {.name = "empty",
     .inputs = {ONS_F32(0, 3), {.dtype = ONS_FLOAT32, .value_count = 1, .values = {1}}},
     .flops = 0,
     .no_gradient = true},
    {.name = "misfit", .inputs = {ONS_F32(5, 7), ONS_F32(5)}, .error = "do not fit"},
    {.name = "block_misfit",
     .inputs = {ONS_F32(5, 7), ONS_F32(3, 7)},
     .settings = {ONS_SET_INT("axis", 0), ONS_SET_INT("block_size", 3)},
     .error = "do not fit"},
    {.name = "to_float",
     .inputs = {ONS_F32(5), ONS_F32()},
     .settings = {ONS_SET_INT("output_dtype", 1)},
     .error = "type 1"},
    {.name = "large",
     .inputs = {ONS_F32_IN(-3, 3, 1024, 4096), {.dtype = ONS_FLOAT32, .value_count = 1, .values = {0.01}}},
     .flops = 4194304,
     .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(quantize_linear, "QuantizeLinear", ONS_ONNX(10, ONS_NEWEST), ONS_ARITY(2, 3, 1, 1),
                    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("axis", 1), ONS_INT_ATTRIBUTE("block_size", 0),
                                   ONS_INT_ATTRIBUTE("output_dtype", 0), ONS_INT_ATTRIBUTE("saturate", 1),
                                   ONS_INT_ATTRIBUTE("precision", 0)),
                    ONS_INFER(quantize_linear_infer), ONS_COST(ons_cost_elementwise),
                    ONS_GRADIENT_ON_REQUEST(ons_gradient_stops, ONS_INPUT_BIT(X) | ONS_INPUT_BIT(SCALE),
                                            ONS_INPUT_BIT(SCALE)),
                    ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR, ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(quantize_linear_reference),
                    ONS_CPU_KERNEL(quantize_linear_prepare, quantize_linear_run),
                    ONS_CUDA_KERNEL(quantize_linear_prepare, ons_cuda_quantize_linear), quantize_linear_cases);
