#include "kernels/common/cuda_norm.cuh"

namespace {

template <class T> void run_rms_normalization(const ons_launch *l) {
    ons::run_norm<T>(l, false, nullptr, nullptr, (float *)l->outputs[1]);
}

} // namespace

extern "C" void ons_cuda_rms_normalization(const ons_launch *launch) {
    ONS_CUDA_FLOAT_DISPATCH(((const ons_cuda_norm *)launch->state)->dtype, run_rms_normalization, launch);
}
