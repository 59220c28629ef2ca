/* GlobalMaxPoolGradient on the CPU. */
#include "kernels/pooling/global_pool.h"

#include <string.h>

static void global_max_pool_gradient_run(const ons_launch *launch) {
    const ons_channels *c = launch->state;
    const float *dy = launch->inputs[0], *x = launch->inputs[1], *y = launch->inputs[2];
    float *dx = launch->outputs[0];
#pragma omp parallel for schedule(static) if (c->batch * c->channels * c->positions > ONS_PARALLEL_GRAIN)
    for (int64_t i = 0; i < c->batch * c->channels; ++i) {
        const float *from = x + i * c->positions;
        float *to = dx + i * c->positions;
        int64_t k = 0;
        memset(to, 0, (size_t)c->positions * sizeof *to);
        while (k < c->positions && from[k] != y[i]) ++k;
        if (k < c->positions) to[k] = dy[i];
    }
}

ONS_KERNELS(cpu, global_max_pool_gradient, ONS_KERNEL(ons_global_pool_prepare_second, global_max_pool_gradient_run))
