#include "kernels/common/cuda_elementwise.cuh"

namespace {

struct prelu_slope : ons::with_parameters {
    __device__ float operator()(float dy, float x, float slope) const { return x < 0 ? dy * slope : dy; }
};

template <class T> void run_prelu_gradient(const ons_launch *l) { ons::run_3<T, T, T, T>(l, ons::formula<prelu_slope>(l)); }

} // namespace

extern "C" void ons_cuda_prelu_gradient(const ons_launch *launch) {
    ONS_CUDA_FLOAT_DISPATCH(((const ons_cuda_elementwise *)launch->state)->dtype, run_prelu_gradient, launch);
}
