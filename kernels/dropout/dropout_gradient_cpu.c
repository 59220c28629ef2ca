/* DropoutGradient on the CPU. */
#include "kernels/dropout/dropout_gradient.h"

#include "kernels/common/elementwise/unary.h"
#include "kernels/random/dropout.h"

static ons_status *dropout_gradient_prepare(ons_prepare *p) {
    ONS_TRY(ons_unary_prepare(p));
    ((ons_unary_state *)p->state)->parameters[0] = (float)ons_dropout_scale(ons_attribute_float(p->operands, RATIO));
    return NULL;
}

static void dropout_gradient_run(const ons_launch *launch) {
    const ons_unary_state *state = launch->state;
    const float *dy = launch->inputs[0];
    const uint8_t *mask = launch->inputs[1];
    float *dx = launch->outputs[0];
    float scale = state->parameters[0];
    int64_t n = state->elements;
#pragma omp parallel for simd schedule(static) if (n > ONS_PARALLEL_GRAIN)
    for (int64_t i = 0; i < n; ++i) {
        float kept = dy[i] * scale;
        dx[i] = mask[i] != 0 ? kept : 0.0f;
    }
}

ONS_KERNELS(cpu, dropout_gradient, ONS_KERNEL(dropout_gradient_prepare, dropout_gradient_run))
