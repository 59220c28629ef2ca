#include "kernels/common/elementwise/cuda_elementwise.cuh"

namespace {

__global__ void sample_mean_of(const float *x, float *result, const ons_step *step) {
    if (threadIdx.x == 0) *result = (float)(*x * step->sample_share);
}

} // namespace

extern "C" void ons_cuda_run_sample_mean(const ons_launch *launch) {
    ons::launch(launch, sample_mean_of, 1, ons::WARP, (const float *)launch->inputs[0], (float *)launch->outputs[0],
                launch->device_step);
}
