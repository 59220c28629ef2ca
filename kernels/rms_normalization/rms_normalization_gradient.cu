#include "kernels/normalization/cuda_norm.cuh"

namespace {

template <class T> void run_rms_normalization_gradient(const ons_launch *l) {
    ons::run_norm_gradient<T>(l, nullptr, (const float *)l->inputs[3], nullptr);
}

} // namespace

extern "C" void ons_cuda_run_rms_normalization_gradient(const ons_launch *launch) {
    ONS_CUDA_FLOAT_DISPATCH(((const ons_cuda_norm *)launch->state)->dtype, run_rms_normalization_gradient, launch);
}
