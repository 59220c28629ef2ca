#include "kernels/common/elementwise/cuda_elementwise.cuh"

namespace {

struct bitwise_or_formula : ons::with_parameters {
    __device__ uint64_t operator()(uint64_t a, uint64_t b) const { return a | b; }
};

} // namespace

ONS_CUDA_MIXED(bitwise_or)

#ifdef ONS_CUDA_OWN_KERNELS

namespace {

template <class Unit> void run_bitwise_or(const ons_launch *l) {
    ons::run_2<Unit, Unit, Unit>(l, ons::formula<bitwise_or_formula>(l));
}

} // namespace

/* Bits are bits: by the size of the integers alone. */
extern "C" void ons_cuda_run_bitwise_or(const ons_launch *launch) {
    ONS_CUDA_UNIT_DISPATCH(ons_dtype_size(((const ons_cuda_elementwise *)launch->state)->output_dtype), run_bitwise_or,
                           launch);
}

#endif

ONS_KERNELS(cuda, bitwise_or, ONS_KERNEL(ons_cuda_move_prepare, ons_cuda_run_bitwise_or))
