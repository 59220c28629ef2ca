/* LRNGradient on the CPU. */
#include "kernels/lrn/local_response.h"

#include "kernels/common/rows/rows.h"

ons_status *ons_lrn_gradient_prepare(ons_prepare *p) {
    ONS_TRY(ons_require_float32(p->operands));
    ons_local_response *l;
    ONS_NEW_STATE(l, p);
    ons_resolved(ons_local_response_of(p->operands, &p->operands->inputs[1], l));
    int64_t elements = ons_elements(&p->operands->inputs[1]);
    l->parts = elements > ONS_PARALLEL_GRAIN ? p->threads : elements > 0;
    p->scratch_bytes = l->parts * l->size.channels * (int64_t)sizeof(ons_simd_float);
    return ons_require_scratch(p, p->scratch_bytes);
}

/* `count` neighbouring positions of a sample: first dy s^-beta goes to dx and dy x s^(-beta - 1) to scratch. */
static inline __attribute__((always_inline)) void differentiate(const ons_local_response *l, const float *dy,
                                                                const float *x, float *dx, float *products, int count) {
    int64_t channels = l->size.channels, stride = l->size.positions;
#define TAKE(FROM) (count == ONS_SIMD_FLOATS ? ons_simd_load(FROM) : ons_simd_load_some((FROM), count, 0))
#define PUT(TO, X)                                                                                                     \
    do {                                                                                                               \
        if (count == ONS_SIMD_FLOATS)                                                                                  \
            ons_simd_store((TO), (X));                                                                                 \
        else                                                                                                           \
            ons_simd_store_some((TO), (X), count);                                                                     \
    } while (0)
    for (int64_t c = 0; c < channels; ++c) {
        ons_simd_float s = ons_local_sum(l, x, c, count), direct = TAKE(dy + c * stride) * ons_local_power(s, l->beta);
        ons_simd_float product = direct * TAKE(x + c * stride) / s;
        ons_simd_store(products + c * ONS_SIMD_FLOATS, product);
        PUT(dx + c * stride, direct);
    }
    float factor = 2 * l->weight * l->beta;
    for (int64_t c = 0; c < channels; ++c) {
        ons_simd_float sum = {0};
        for (int64_t k = ons_local_first(c, l->after), end = ons_local_end(l, c, l->before); k < end; ++k)
            sum += ons_simd_load(products + k * ONS_SIMD_FLOATS);
        ons_simd_float result = TAKE(dx + c * stride) - factor * TAKE(x + c * stride) * sum;
        PUT(dx + c * stride, result);
    }
#undef PUT
#undef TAKE
}

static void lrn_gradient_run(const ons_launch *launch) {
    const ons_local_response *l = launch->state;
    const float *dy = launch->inputs[0], *x = launch->inputs[1];
    float *dx = launch->outputs[0];
    int64_t positions = l->size.positions, blocks = (positions + ONS_SIMD_FLOATS - 1) / ONS_SIMD_FLOATS;
    int64_t sample = l->size.channels * positions;
#pragma omp parallel for schedule(static) if (l->parts > 1)
    for (int part = 0; part < l->parts; ++part) {
        float *products = (float *)launch->scratch + part * l->size.channels * ONS_SIMD_FLOATS;
        int64_t end = ons_part_begin(l->size.batch * blocks, l->parts, part + 1);
        for (int64_t i = ons_part_begin(l->size.batch * blocks, l->parts, part); i < end; ++i) {
            int64_t first = i % blocks * ONS_SIMD_FLOATS, at = i / blocks * sample + first;
            if (positions - first >= ONS_SIMD_FLOATS)
                differentiate(l, dy + at, x + at, dx + at, products, ONS_SIMD_FLOATS);
            else
                differentiate(l, dy + at, x + at, dx + at, products, (int)(positions - first));
        }
    }
}

ONS_KERNELS(cpu, lrn_gradient, ONS_KERNEL(ons_lrn_gradient_prepare, lrn_gradient_run))
