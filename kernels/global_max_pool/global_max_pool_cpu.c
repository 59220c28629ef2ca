/* GlobalMaxPool on the CPU. */
#include "kernels/pooling/global_pool.h"

#include <math.h>

static void global_max_pool_run(const ons_launch *launch) {
    const ons_channels *c = launch->state;
    const float *x = launch->inputs[0];
    float *y = launch->outputs[0];
#pragma omp parallel for schedule(static) if (c->batch * c->channels * c->positions > ONS_PARALLEL_GRAIN)
    for (int64_t i = 0; i < c->batch * c->channels; ++i) {
        const float *from = x + i * c->positions;
        float best = -INFINITY;
        int32_t not_numbers = 0;
#pragma omp simd reduction(max : best) reduction(+ : not_numbers)
        for (int64_t k = 0; k < c->positions; ++k) {
            best = from[k] > best ? from[k] : best;
            not_numbers += from[k] != from[k];
        }
        y[i] = not_numbers > 0 ? NAN : best;
    }
}

ONS_KERNELS(cpu, global_max_pool, ONS_KERNEL(ons_global_pool_prepare, global_max_pool_run))
