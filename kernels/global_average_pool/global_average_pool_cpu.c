/* GlobalAveragePool on the CPU. */
#include "kernels/pooling/global_pool.h"

enum { BLOCK = 16, RUN = 64 };

/* Σ of `count` floats, in lanes, with a run at a time so that long sums stay accurate. */
static float sum_of(const float *x, int64_t count) {
    double total = 0;
    for (int64_t start = 0; start < count; start += RUN * BLOCK) {
        int64_t length = count - start < RUN * BLOCK ? count - start : RUN * BLOCK;
        float sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int64_t i = 0; i < length; ++i) sum += x[start + i];
        total += sum;
    }
    return (float)total;
}

/* Sums of `width` (≤ BLOCK) channels over all positions, `stride` apart. */
static inline __attribute__((always_inline)) void sum_channels(const float *x, int64_t positions, int64_t stride,
                                                               int width, float scale, float *y) {
    float total[BLOCK] = {0};
    for (int64_t start = 0; start < positions; start += RUN) {
        int64_t end = start + RUN < positions ? start + RUN : positions;
        float sum[BLOCK] = {0};
        for (int64_t i = start; i < end; ++i)
#pragma omp simd
            for (int k = 0; k < width; ++k) sum[k] += x[i * stride + k];
        for (int k = 0; k < width; ++k) total[k] += sum[k];
    }
    for (int k = 0; k < width; ++k) y[k] = total[k] * scale;
}

static void global_average_pool_run(const ons_launch *launch) {
    const ons_channels *c = launch->state;
    const float *x = launch->inputs[0];
    float *y = launch->outputs[0];
    float scale = 1.0f / (float)c->positions;
    int64_t blocks = (c->channels + BLOCK - 1) / BLOCK, sample = c->channels * c->positions;
    bool parallel = c->batch * sample > ONS_PARALLEL_GRAIN;
    if (!c->last) {
#pragma omp parallel for schedule(static) if (parallel)
        for (int64_t i = 0; i < c->batch * c->channels; ++i) y[i] = sum_of(x + i * c->positions, c->positions) * scale;
        return;
    }
#pragma omp parallel for schedule(static) if (parallel)
    for (int64_t i = 0; i < c->batch * blocks; ++i) {
        int64_t n = i / blocks, first = i % blocks * BLOCK;
        int width = c->channels - first < BLOCK ? (int)(c->channels - first) : BLOCK;
        const float *from = x + n * sample + first;
        float *to = y + n * c->channels + first;
        if (width == BLOCK)
            sum_channels(from, c->positions, c->channels, BLOCK, scale, to);
        else
            sum_channels(from, c->positions, c->channels, width, scale, to);
    }
}

ONS_KERNELS(cpu, global_average_pool, ONS_KERNEL(ons_global_pool_prepare, global_average_pool_run))
