/* DequantizeLinear on the CPU. */
#include "kernels/dequantize_linear/dequantize_linear_node.h"

#include "kernels/quantization/quantization.h"

ons_status *ons_dequantize_linear_make_state(ons_prepare *p) {
    const ons_operands *o = p->operands;
    if (o->outputs[0].dtype != ONS_FLOAT32) return ons_refuse_dtype(o, o->outputs[0].dtype);
    if (o->inputs[SCALE].dtype != ONS_FLOAT32) return ons_refuse_dtype(o, o->inputs[SCALE].dtype);
    ons_dequantize_linear *state;
    ONS_NEW_STATE(state, p);
    state->dtype = o->inputs[X].dtype;
    state->has_zero = ons_has_input(o, ZERO);
    return find_scales(o, &state->scales);
}

ons_status *ons_dequantize_linear_prepare(ons_prepare *p) {
    ons_dtype dtype = p->operands->inputs[X].dtype;
    if (dtype != ONS_INT8 && dtype != ONS_UINT8 && dtype != ONS_INT32) return ons_refuse_dtype(p->operands, dtype);
    return ons_dequantize_linear_make_state(p);
}

#define DEQUANTIZE(NAME, TYPE)                                                                                         \
    static void NAME(const ons_launch *launch) {                                                                       \
        const ons_dequantize_linear *state = launch->state;                                                            \
        const ons_scales *s = &state->scales;                                                                          \
        const TYPE *x = launch->inputs[X], *zeros = state->has_zero ? launch->inputs[ZERO] : NULL;                     \
        const float *scales = launch->inputs[SCALE];                                                                   \
        float *y = launch->outputs[0];                                                                                 \
        _Pragma("omp parallel for schedule(static) if (s->elements > ONS_PARALLEL_GRAIN)") for (int64_t i = 0;         \
                                                                                                i < s->elements;       \
                                                                                                ++i) {                 \
            int64_t k = ons_scale_of(s, i);                                                                            \
            y[i] = (float)((int64_t)x[i] - (zeros == NULL ? 0 : (int64_t)zeros[k])) * scales[k];                       \
        }                                                                                                              \
    }

DEQUANTIZE(run_int8, int8_t)

DEQUANTIZE(run_uint8, uint8_t)

DEQUANTIZE(run_int32, int32_t)

static void dequantize_linear_run(const ons_launch *launch) {
    switch (((const ons_dequantize_linear *)launch->state)->dtype) {
    case ONS_INT8: run_int8(launch); return;
    case ONS_UINT8: run_uint8(launch); return;
    default: run_int32(launch); return;
    }
}

ONS_KERNELS(cpu, dequantize_linear, ONS_KERNEL(ons_dequantize_linear_prepare, dequantize_linear_run))
