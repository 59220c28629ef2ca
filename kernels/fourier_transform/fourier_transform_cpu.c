/* FourierTransform on the CPU. */
#include "kernels/fourier_transform/fourier_transform_node.h"

#include <omp.h>

#include "kernels/signal/fourier.h"

typedef struct transform_state {
    ons_fourier_sizes sizes;
    ons_fourier plan;
    int threads;
    int64_t scratch; /* doubles of a thread */
} transform_state;

static ons_status *fourier_transform_prepare(ons_prepare *p) {
    uint32_t axis;
    ONS_TRY(ons_require_float32(p->operands));
    transform_state *state;
    ONS_NEW_STATE(state, p);
    ons_resolved(ons_fourier_transform_resolve(p->operands, &state->sizes, &axis));
    ONS_TRY(ons_fourier_prepare(state->sizes.length, p->arena, &state->plan));
    state->threads = p->threads;
    state->scratch = (2 * state->sizes.length + ons_fourier_scratch(&state->plan) + 7) / 8 * 8;
    p->scratch_bytes = p->threads * state->scratch * (int64_t)sizeof(double);
    p->implementation = state->plan.chirp == NULL ? "radix 2" : "bluestein";
    return NULL;
}

static void run_line(const transform_state *state, const float *x, float *y, int64_t line, double *scratch) {
    const ons_fourier_sizes *s = &state->sizes;
    double *re = scratch, *im = scratch + s->length;
    for (int64_t t = 0; t < s->length; ++t) {
        bool given = t < s->inputs;
        re[t] = given ? (double)x[place(s, line, s->inputs, s->in_parts, t, 0)] : 0;
        im[t] = given && s->in_parts == 2 ? (double)x[place(s, line, s->inputs, s->in_parts, t, 1)] : 0;
    }
    ons_fourier_run(&state->plan, s->backwards ? im : re, s->backwards ? re : im, scratch + 2 * s->length);
    for (int64_t k = 0; k < s->outputs; ++k)
        for (int64_t part = 0; part < s->out_parts; ++part)
            y[place(s, line, s->outputs, s->out_parts, k, part)] =
                k < s->length ? (float)((part == 0 ? re : im)[k] * s->factor) : 0.0f;
}

static void fourier_transform_run(const ons_launch *launch) {
    const transform_state *state = launch->state;
    int64_t lines = state->sizes.outer * state->sizes.inner;
#pragma omp parallel for schedule(static) num_threads(state->threads) if (lines > 1)
    for (int64_t line = 0; line < lines; ++line)
        run_line(state, launch->inputs[0], launch->outputs[0], line,
                 (double *)launch->scratch + omp_get_thread_num() * state->scratch);
}

ONS_KERNELS(cpu, fourier_transform, ONS_KERNEL(fourier_transform_prepare, fourier_transform_run))
