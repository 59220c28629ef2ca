/* QuantizeLinear on the CPU. */
#include "kernels/quantize_linear/quantize_linear_node.h"

#include "kernels/quantization/quantization.h"

ons_status *ons_quantize_linear_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ons_dtype dtype = o->outputs[0].dtype;
    double low, high;
    if (o->inputs[X].dtype != ONS_FLOAT32) return ons_refuse_dtype(o, o->inputs[X].dtype);
    if (o->inputs[SCALE].dtype != ONS_FLOAT32) return ons_refuse_dtype(o, o->inputs[SCALE].dtype);
    if (dtype != ONS_INT8 && dtype != ONS_UINT8) return ons_refuse_dtype(o, dtype);
    ons_quantize_linear *state;
    ONS_NEW_STATE(state, p);
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

ONS_KERNELS(cpu, quantize_linear, ONS_KERNEL(ons_quantize_linear_prepare, quantize_linear_run))
