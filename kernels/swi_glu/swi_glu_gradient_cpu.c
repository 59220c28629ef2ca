/* SwiGLUGradient on the CPU. */
#include "kernels/common/elementwise/unary.h"
#include "kernels/common/math/vector_math.h"

/* Elements are read before they are written: an output may be an input's memory. */
static void swi_glu_gradient_run(const ons_launch *launch) {
    const ons_unary_state *state = launch->state;
    const float *dy = launch->inputs[0], *a = launch->inputs[1], *b = launch->inputs[2];
    float *da = launch->outputs[0], *db = launch->outputs[1], alpha = state->parameters[0];
    int64_t n = state->elements;
    if (db == NULL) {
#pragma omp parallel for simd schedule(static) if (n > ONS_PARALLEL_GRAIN)
        for (int64_t i = 0; i < n; ++i) {
            float s = ons_sigmoid(alpha * a[i]);
            da[i] = dy[i] * b[i] * (s + s * (1 - s) * (alpha * a[i]));
        }
        return;
    }
    if (da == NULL) {
#pragma omp parallel for simd schedule(static) if (n > ONS_PARALLEL_GRAIN)
        for (int64_t i = 0; i < n; ++i) db[i] = dy[i] * (a[i] * ons_sigmoid(alpha * a[i]));
        return;
    }
#pragma omp parallel for simd schedule(static) if (n > ONS_PARALLEL_GRAIN)
    for (int64_t i = 0; i < n; ++i) {
        float gate = a[i], value = b[i], slope = dy[i], s = ons_sigmoid(alpha * gate);
        da[i] = slope * value * (s + s * (1 - s) * (alpha * gate));
        db[i] = slope * (gate * s);
    }
}

ONS_KERNELS(cpu, swi_glu_gradient, ONS_KERNEL(ons_unary_prepare, swi_glu_gradient_run))
