#include "kernels/common/cuda/cuda_each.cuh"
#include "kernels/common/indexing/cuda_indexing.cuh"
#include "kernels/common/rows/cuda_rows.cuh"
extern "C" {
#include "kernels/common/elementwise/cuda_elementwise.h"
#include "kernels/quantization/quantization.h"
}

namespace {

struct smaller_number {
    __device__ float operator()(float a, float b) const { return fminf(a, b); }
};
struct larger_number {
    __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

/* One block: the range of all elements, 0 among them, gives scale and zero point. */
__global__ void find_range(int64_t count, const float *x, float *found, float *scale_out, uint8_t *zero_out) {
    float low = 0, high = 0;
    for (int64_t i = threadIdx.x; i < count; i += ons::ROW_THREADS) {
        low = fminf(low, x[i]);
        high = fmaxf(high, x[i]);
    }
    low = ons::block_reduce<ons::ROW_THREADS>(low, 0.0f, smaller_number());
    high = ons::block_reduce<ons::ROW_THREADS>(high, 0.0f, larger_number());
    if (threadIdx.x != 0) return;
    float scale = (high - low) / 255, zero = scale > 0 ? fminf(fmaxf(rintf(-low / scale), 0.0f), 255.0f) : 0;
    zero = zero != zero ? 0 : zero;
    found[0] = scale;
    found[1] = zero;
    if (scale_out != nullptr) *scale_out = scale;
    if (zero_out != nullptr) *zero_out = (uint8_t)zero;
}

struct by_range {
    const float *x, *found;
    uint8_t *q;
    __device__ void operator()(int64_t i) const {
        float value = found[0] > 0 ? ons_quantize(x[i], found[0], found[1], 0, 255) : 0;
        q[i] = value != value ? 0 : (uint8_t)value;
    }
};

} // namespace

extern "C" void ons_cuda_run_dynamic_quantize_linear(const ons_launch *launch) {
    int64_t count = ((const ons_cuda_elementwise *)launch->state)->elements;
    const float *x = (const float *)launch->inputs[0];
    float *found = (float *)launch->scratch;
    ons::launch(launch, find_range, 1, ons::ROW_THREADS, count, x, found, (float *)launch->outputs[1],
                (uint8_t *)launch->outputs[2]);
    ons::each(launch, count, by_range{x, found, (uint8_t *)launch->outputs[0]});
}
