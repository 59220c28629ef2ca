#include "kernels/common/elementwise/cuda_elementwise.cuh"

namespace {

struct dropout_gradient_formula : ons::with_parameters {
    __device__ float operator()(float dy, int64_t kept) const { return kept != 0 ? dy * parameters[0] : 0; }
};

} // namespace

ONS_CUDA_MIXED(dropout_gradient)

#ifdef ONS_CUDA_OWN_KERNELS

namespace {

template <class T> void run_dropout_gradient(const ons_launch *l) {
    ons::run_2<T, T, uint8_t>(l, ons::formula<dropout_gradient_formula>(l));
}

} // namespace

extern "C" void ons_cuda_run_dropout_gradient(const ons_launch *launch) {
    ONS_CUDA_FLOAT_DISPATCH(((const ons_cuda_elementwise *)launch->state)->dtype, run_dropout_gradient, launch);
}

#endif
