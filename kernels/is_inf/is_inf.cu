#include "kernels/common/cuda_elementwise.cuh"

namespace {

struct is_inf_test : ons::with_parameters {
    __device__ int64_t operator()(float x) const { return x == parameters[0] || x == parameters[1]; }
};

template <class T> void run_is_inf(const ons_launch *l) { ons::run_1<uint8_t, T>(l, ons::formula<is_inf_test>(l)); }

} // namespace

extern "C" void ons_cuda_is_inf(const ons_launch *launch) {
    ONS_CUDA_FLOAT_DISPATCH(((const ons_cuda_elementwise *)launch->state)->dtype, run_is_inf, launch);
}
