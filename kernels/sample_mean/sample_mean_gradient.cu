#include "kernels/common/elementwise/cuda_elementwise.cuh"

namespace {

__global__ void sample_mean_slope(const float *x, float *result, const ons_step *step) {
    if (threadIdx.x == 0) *result = (float)(*x * step->sample_share);
}

} // namespace

extern "C" void ons_cuda_run_sample_mean_gradient(const ons_launch *launch) {
    ons::launch(launch, sample_mean_slope, 1, ons::WARP, (const float *)launch->inputs[1], (float *)launch->outputs[0],
                launch->device_step);
}
