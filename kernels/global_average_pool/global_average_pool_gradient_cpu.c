/* GlobalAveragePoolGradient on the CPU. */
#include "kernels/pooling/global_pool.h"

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
            ONS_KERNEL(ons_global_pool_prepare_result, global_average_pool_gradient_run))
