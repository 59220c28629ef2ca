/* DequantizeLinear on the CPU. */
#include "kernels/dequantize_linear/dequantize_linear_node.h"

#include <omp.h>

#include "kernels/common/rows/rows.h"
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

/* Element `i` of a tensor. */
typedef int64_t read_element(const void *elements, int64_t i);

static inline int64_t read_int8(const void *elements, int64_t i) { return ((const int8_t *)elements)[i]; }
static inline int64_t read_uint8(const void *elements, int64_t i) { return ((const uint8_t *)elements)[i]; }
static inline int64_t read_int32(const void *elements, int64_t i) { return ((const int32_t *)elements)[i]; }

/* Elements [begin, end), compiled for each dtype. */
__attribute__((always_inline)) static inline void dequantize(const ons_launch *launch, int64_t begin, int64_t end,
                                                             read_element *read) {
    const ons_dequantize_linear *state = launch->state;
    const ons_scales *s = &state->scales;
    const void *x = launch->inputs[X], *zeros = state->has_zero ? launch->inputs[ZERO] : NULL;
    const float *scales = launch->inputs[SCALE];
    float *y = launch->outputs[0];
    if (s->count == 1) {
        const int64_t zero = zeros == NULL ? 0 : read(zeros, 0);
        const float scale = scales[0];
        for (int64_t i = begin; i < end; ++i) y[i] = (float)(read(x, i) - zero) * scale;
        return;
    }
    for (int64_t i = begin; i < end; ++i) {
        int64_t k = ons_scale_of(s, i);
        y[i] = (float)(read(x, i) - (zeros == NULL ? 0 : read(zeros, k))) * scales[k];
    }
}

static void dequantize_some(const ons_launch *launch, int64_t begin, int64_t end) {
    switch (((const ons_dequantize_linear *)launch->state)->dtype) {
    case ONS_INT8: dequantize(launch, begin, end, read_int8); return;
    case ONS_UINT8: dequantize(launch, begin, end, read_uint8); return;
    default: dequantize(launch, begin, end, read_int32); return;
    }
}

static void dequantize_linear_run(const ons_launch *launch) {
    int64_t elements = ((const ons_dequantize_linear *)launch->state)->scales.elements;
#pragma omp parallel if (elements > ONS_PARALLEL_GRAIN)
    {
        int threads = omp_get_num_threads(), thread = omp_get_thread_num();
        dequantize_some(launch, ons_part_begin(elements, threads, thread),
                        ons_part_begin(elements, threads, thread + 1));
    }
}

ONS_KERNELS(cpu, dequantize_linear, ONS_KERNEL(ons_dequantize_linear_prepare, dequantize_linear_run))
