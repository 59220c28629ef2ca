#include "kernels/common/elementwise/cuda_elementwise.cuh"

namespace {

struct not_formula : ons::with_parameters {
    __device__ int64_t operator()(int64_t x) const { return x == 0; }
};

} // namespace

/* To the formatter `not` is an operator of C++. */
/* clang-format off */
ONS_CUDA_MIXED(not)
/* clang-format on */

#ifdef ONS_CUDA_OWN_KERNELS
extern "C" void ons_cuda_run_not(const ons_launch *launch) {
    ons::run_1<uint8_t, uint8_t>(launch, ons::formula<not_formula>(launch));
}
#endif

ONS_KERNELS(cuda, not, ONS_KERNEL(ons_cuda_bool_prepare, ons_cuda_run_not))
