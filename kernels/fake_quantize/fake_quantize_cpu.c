/* FakeQuantize on the CPU. */
#include "kernels/fake_quantize/fake_quantize_node.h"

#include "kernels/quantization/fake_quantization.h"

ons_status *ons_fake_quantize_prepare(ons_prepare *p) {
    ONS_TRY(ons_require_float32(p->operands));
    ons_fake_quantize *state;
    ONS_NEW_STATE(state, p);
    state->has_from = ons_has_input(p->operands, FROM_ZERO);
    state->has_to = ons_has_input(p->operands, TO_ZERO);
    return ons_fake_resolve(p->operands, X, &state->fake);
}

/* Elements [begin, end), which share their scales. */
static void run_span(const float *x, float *y, int64_t begin, int64_t end, const ons_fake *fake, float from, float to,
                     float from_zero, float to_zero) {
#pragma omp simd
    for (int64_t i = begin; i < end; ++i)
        y[i] = (ons_quantize(x[i], from, from_zero, fake->low, fake->high) - to_zero) * to;
}

static void fake_quantize_run(const ons_launch *launch) {
    enum { SPAN = 4096 };
    const ons_fake_quantize *state = launch->state;
    const ons_fake *fake = &state->fake;
    const ons_scales *s = &fake->scales;
    const float *x = launch->inputs[X], *from = launch->inputs[FROM_SCALE], *to = launch->inputs[TO_SCALE];
    const void *from_zeros = state->has_from ? launch->inputs[FROM_ZERO] : NULL;
    const void *to_zeros = state->has_to ? launch->inputs[TO_ZERO] : NULL;
    float *y = launch->outputs[0];
    int64_t span = s->count == 1 ? SPAN : s->blocked ? 1 : s->inner;
#pragma omp parallel for schedule(static) if (s->elements > ONS_PARALLEL_GRAIN)
    for (int64_t begin = 0; begin < s->elements; begin += span) {
        int64_t k = ons_scale_of(s, begin), end = begin + span < s->elements ? begin + span : s->elements;
        run_span(x, y, begin, end, fake, from[k], to[k], ons_fake_zero(fake, from_zeros, k),
                 ons_fake_zero(fake, to_zeros, k));
    }
}

ONS_KERNELS(cpu, fake_quantize, ONS_KERNEL(ons_fake_quantize_prepare, fake_quantize_run))
