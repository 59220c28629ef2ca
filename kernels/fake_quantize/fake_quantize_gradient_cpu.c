/* FakeQuantizeGradient on the CPU. */
#include "kernels/fake_quantize/fake_quantize_gradient_node.h"

#include "kernels/quantization/fake_quantization.h"

static inline parts parts_of(float dy, float x, float from, float to, float from_zero, float to_zero, float low,
                             float high) {
    float raw = rintf(x / from) + from_zero, q = raw < low ? low : raw > high ? high : raw;
    float inside = raw >= low && raw <= high ? dy * to / from : 0;
    return (parts){inside, -inside * (x / from), dy * (q - to_zero)};
}

/* Scratch: sums of both scales for every chunk, or nothing where each scale is one thread's. */
enum { CHUNK = 8192 };

typedef struct gradient_state {
    ons_fake fake;
    bool has_from, has_to;
    int64_t chunks;
} gradient_state;

static ons_status *fake_quantize_gradient_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ONS_TRY(ons_require_float32(o));
    gradient_state *state;
    ONS_NEW_STATE(state, p);
    ons_resolved(ons_fake_resolve(o, X, &state->fake));
    state->has_from = ons_has_input(o, FROM_ZERO);
    state->has_to = ons_has_input(o, TO_ZERO);
    state->chunks = (state->fake.scales.elements + CHUNK - 1) / CHUNK;
    int64_t sums = state->fake.scales.count == 1 ? state->chunks : 0;
    p->scratch_bytes = (2 * sums * (int64_t)sizeof(double) + 63) / 64 * 64;
    return NULL;
}

static void sum_gradients(const operands *p, int64_t k, int64_t begin, int64_t end, int64_t stride,
                          double sums[static 2]) {
    float from = p->from[k], to = p->to[k];
    float from_zero = ons_fake_zero(p->fake, p->from_zeros, k), to_zero = ons_fake_zero(p->fake, p->to_zeros, k);
    double first = 0, second = 0;
    for (int64_t i = begin; i < end; i += stride) {
        parts each = parts_of(p->dy[i], p->x[i], from, to, from_zero, to_zero, p->fake->low, p->fake->high);
        if (p->dx != NULL) p->dx[i] = each.x;
        first += (double)each.from;
        second += (double)each.to;
    }
    sums[0] += first;
    sums[1] += second;
}

/* All elements of scale `k`, where there are several scales. */
static void walk_scale(const operands *p, int64_t k, double sums[static 2]) {
    const ons_scales *s = &p->fake->scales;
    if (s->blocked) {
        int64_t inner = k % s->inner, block = k / s->inner % s->blocks, outer = k / s->inner / s->blocks;
        int64_t first = block * s->block, last = first + s->block < s->length ? first + s->block : s->length;
        int64_t base = outer * s->length * s->inner + inner;
        sum_gradients(p, k, base + first * s->inner, base + last * s->inner, s->inner, sums);
        return;
    }
    for (int64_t begin = k * s->inner; begin < s->elements; begin += s->length * s->inner)
        sum_gradients(p, k, begin, begin + s->inner, 1, sums);
}

static void fake_quantize_gradient_run(const ons_launch *launch) {
    const gradient_state *state = launch->state;
    const ons_scales *s = &state->fake.scales;
    operands p = {.fake = &state->fake,
                  .dy = launch->inputs[DY],
                  .x = launch->inputs[X],
                  .from = launch->inputs[FROM_SCALE],
                  .to = launch->inputs[TO_SCALE],
                  .from_zeros = state->has_from ? launch->inputs[FROM_ZERO] : NULL,
                  .to_zeros = state->has_to ? launch->inputs[TO_ZERO] : NULL,
                  .dx = launch->outputs[0]};
    float *from = launch->outputs[1], *to = launch->outputs[2];
    double(*chunks)[2] = launch->scratch, total[2] = {0, 0};
    if (s->count != 1) {
#pragma omp parallel for schedule(static) if (s->elements > ONS_PARALLEL_GRAIN)
        for (int64_t k = 0; k < s->count; ++k) {
            double sums[2] = {0, 0};
            walk_scale(&p, k, sums);
            if (from != NULL) from[k] = (float)sums[0];
            if (to != NULL) to[k] = (float)sums[1];
        }
        return;
    }
#pragma omp parallel for schedule(static) if (s->elements > ONS_PARALLEL_GRAIN)
    for (int64_t c = 0; c < state->chunks; ++c) {
        chunks[c][0] = chunks[c][1] = 0;
        sum_gradients(&p, 0, c * CHUNK, (c + 1) * CHUNK < s->elements ? (c + 1) * CHUNK : s->elements, 1, chunks[c]);
    }
    for (int64_t c = 0; c < state->chunks; ++c) {
        total[0] += chunks[c][0];
        total[1] += chunks[c][1];
    }
    if (from != NULL) from[0] = (float)total[0];
    if (to != NULL) to[0] = (float)total[1];
}

ONS_KERNELS(cpu, fake_quantize_gradient, ONS_KERNEL(fake_quantize_gradient_prepare, fake_quantize_gradient_run))
