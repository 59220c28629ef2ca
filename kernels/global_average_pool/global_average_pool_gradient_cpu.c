/* GlobalAveragePoolGradient on the CPU. */
#include "kernels/global_average_pool/global_average_pool_gradient.h"

#include "kernels/common/layout/channels.h"

ons_status *ons_global_average_pool_gradient_prepare(ons_prepare *p) {
    const ons_type *dx = &p->operands->outputs[0];
    ONS_TRY(ons_require_float32_of(p->operands, dx));
    ons_channels *state;
    ONS_NEW_STATE(state, p);
    *state = ons_channels_of(dx);
    return NULL;
}

static void global_average_pool_gradient_run(const ons_launch *launch) {
    const ons_channels *c = launch->state;
    const float *dy = launch->inputs[0];
    float *dx = launch->outputs[0];
    float scale = 1.0f / (float)c->positions;
    /* Rows of equal values in ONNX's order; rows that repeat the sample's channels with channels last. */
    int64_t rows = c->last ? c->batch * c->positions : c->batch * c->channels;
    int64_t length = c->last ? c->channels : c->positions;
#pragma omp parallel for schedule(static) if (rows * length > ONS_PARALLEL_GRAIN)
    for (int64_t i = 0; i < rows; ++i) {
        float *restrict to = dx + i * length;
        if (c->last) {
            const float *restrict from = dy + i / c->positions * c->channels;
            for (int64_t k = 0; k < length; ++k) to[k] = from[k] * scale;
        } else {
            float share = dy[i] * scale;
            for (int64_t k = 0; k < length; ++k) to[k] = share;
        }
    }
}

ONS_KERNELS(cpu, global_average_pool_gradient,
            ONS_KERNEL(ons_global_average_pool_gradient_prepare, global_average_pool_gradient_run))
