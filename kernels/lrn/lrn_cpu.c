/* LRN on the CPU. */
#include "kernels/lrn/local_response.h"

ons_status *ons_lrn_prepare(ons_prepare *p) {
    ONS_TRY(ons_require_float32(p->operands));
    ons_local_response *state;
    ONS_NEW_STATE(state, p);
    return ons_local_response_of(p->operands, &p->operands->inputs[0], state);
}

static inline __attribute__((always_inline)) void normalize(const ons_local_response *l, const float *x, float *y,
                                                            int count) {
    for (int64_t c = 0; c < l->size.channels; ++c) {
        const float *from = x + c * l->size.positions;
        ons_simd_float power = ons_local_power(ons_local_sum(l, x, c, count), l->beta);
        if (count == ONS_SIMD_FLOATS)
            ons_simd_store(y + c * l->size.positions, ons_simd_load(from) * power);
        else
            ons_simd_store_some(y + c * l->size.positions, ons_simd_load_some(from, count, 0) * power, count);
    }
}

static void lrn_run(const ons_launch *launch) {
    const ons_local_response *l = launch->state;
    const float *x = launch->inputs[0];
    float *y = launch->outputs[0];
    int64_t positions = l->size.positions, blocks = (positions + ONS_SIMD_FLOATS - 1) / ONS_SIMD_FLOATS;
    int64_t sample = l->size.channels * positions;
#pragma omp parallel for schedule(static) if (l->size.batch * sample > ONS_PARALLEL_GRAIN)
    for (int64_t i = 0; i < l->size.batch * blocks; ++i) {
        int64_t first = i % blocks * ONS_SIMD_FLOATS, at = i / blocks * sample + first;
        if (positions - first >= ONS_SIMD_FLOATS)
            normalize(l, x + at, y + at, ONS_SIMD_FLOATS);
        else
            normalize(l, x + at, y + at, (int)(positions - first));
    }
}

ONS_KERNELS(cpu, lrn, ONS_KERNEL(ons_lrn_prepare, lrn_run))
