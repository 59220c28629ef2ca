/* Losses that compare prediction and target element by element, on CUDA: see pointwise_loss.h. */
#ifndef ONSTAGE_KERNELS_LOSSES_CUDA_POINTWISE_LOSS_CUH
#define ONSTAGE_KERNELS_LOSSES_CUDA_POINTWISE_LOSS_CUH

#include "kernels/common/rows/cuda_rows.cuh"
extern "C" {
#include "kernels/losses/cuda_losses.h"
#include "kernels/losses/pointwise_loss.h"
}

namespace ons {

/* A block a part; the sums are joined by one block. */
template <class F>
__global__ void pointwise_terms(int64_t elements, int parts, float parameter, const float *x, const float *t,
                                double *sums) {
    int64_t begin = elements * blockIdx.x / parts, end = elements * (blockIdx.x + 1) / parts;
    double sum = 0;
    for (int64_t i = begin + threadIdx.x; i < end; i += ROW_THREADS) sum += (double)F::loss(x[i], t[i], parameter);
    sum = block_reduce<ROW_THREADS>(sum, 0.0, add());
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

static __global__ void pointwise_mean(int parts, const double *sums, const ons_step *step, float *result) {
    double sum = ordered_sum(sums, parts);
    if (threadIdx.x == 0) *result = (float)(sum / step->counted_targets);
}

template <class F>
__global__ void pointwise_slopes(int64_t elements, float parameter, const float *x, const float *t,
                                 const float *cotangent, const ons_step *step, float *dx) {
    float scale = (float)(*cotangent / step->counted_targets);
    for (int64_t i = global_thread(); i < elements; i += global_threads())
        dx[i] = F::loss(x[i], t[i], parameter) * scale;
}

template <class F> void pointwise_loss(const ons_launch *l) {
    const ons_pointwise_loss *s = (const ons_pointwise_loss *)l->state;
    int64_t parts = s->elements / (8 * ROW_THREADS);
    parts = parts < 1 ? 1 : parts > ONS_CUDA_LOSS_PARTS ? (int64_t)ONS_CUDA_LOSS_PARTS : parts;
    double *sums = (double *)l->scratch;
    launch(l, pointwise_terms<F>, parts, ROW_THREADS, s->elements, (int)parts, s->parameter,
           (const float *)l->inputs[0], (const float *)l->inputs[1], sums);
    launch(l, pointwise_mean, 1, ROW_THREADS, (int)parts, (const double *)sums, l->device_step, (float *)l->outputs[0]);
}

template <class F> void pointwise_gradient(const ons_launch *l) {
    const ons_pointwise_loss *s = (const ons_pointwise_loss *)l->state;
    launch(l, pointwise_slopes<F>, blocks_for(s->elements, ROW_THREADS), ROW_THREADS, s->elements, s->parameter,
           (const float *)l->inputs[0], (const float *)l->inputs[1], (const float *)l->inputs[2], l->device_step,
           (float *)l->outputs[0]);
}

} // namespace ons

/* From expressions of floats x, t and parameter: the loss of one element, or its slope at x. */
#define ONS_CUDA_POINTWISE(SYMBOL, RUN, EXPRESSION)                                                                    \
    namespace {                                                                                                        \
    struct SYMBOL##_pointwise {                                                                                        \
        __device__ static float loss(float x, float t, float parameter) { return (EXPRESSION); }                       \
    };                                                                                                                 \
    }                                                                                                                  \
    extern "C" void ons_cuda_run_##SYMBOL(const ons_launch *launch) { ons::RUN<SYMBOL##_pointwise>(launch); }
#define ONS_CUDA_POINTWISE_LOSS(SYMBOL, EXPRESSION)          ONS_CUDA_POINTWISE(SYMBOL, pointwise_loss, EXPRESSION)
#define ONS_CUDA_POINTWISE_LOSS_GRADIENT(SYMBOL, EXPRESSION) ONS_CUDA_POINTWISE(SYMBOL, pointwise_gradient, EXPRESSION)

#endif
