/* PReluGradient on the CPU. */
#include "kernels/common/elementwise/broadcast.h"

/* Cotangent and data have every element. */
static void prelu_gradient_span(const ons_span *span) {
    const float *dy = span->inputs[0], *x = span->inputs[1], *slope = span->inputs[2];
    float *dx = span->output;
    if (span->steps[2] == 0) {
        float one = *slope;
#pragma omp simd
        for (int64_t i = 0; i < span->count; ++i) dx[i] = x[i] > 0 ? dy[i] : dy[i] * one;
    } else {
#pragma omp simd
        for (int64_t i = 0; i < span->count; ++i) dx[i] = x[i] > 0 ? dy[i] : dy[i] * slope[i];
    }
}

static ons_status *prelu_gradient_prepare(ons_prepare *p) {
    ons_broadcast *state;
    ONS_TRY(ons_require_float32(p->operands));
    return ons_broadcast_prepare(p, prelu_gradient_span, &state);
}

ONS_KERNELS(cpu, prelu_gradient, ONS_KERNEL(prelu_gradient_prepare, ons_broadcast_run))
