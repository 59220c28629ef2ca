#include "kernels/common/cuda/cuda_each.cuh"
#include "kernels/common/elementwise/cuda_elementwise.cuh"

namespace {

struct bit_shift_bits : ons::with_parameters {
    __device__ uint64_t operator()(uint64_t a, uint64_t b) const {
        return b > 63 ? 0 : parameters[0] != 0 ? a << b : a >> b;
    }
};

template <class Unit> void run_bit_shift(const ons_launch *l) {
    ons::run_2<Unit, Unit, Unit>(l, ons::formula<bit_shift_bits>(l));
}

} // namespace

/* Bits are bits: by the size of the integers alone. */
extern "C" void ons_cuda_run_bit_shift(const ons_launch *launch) {
    ONS_CUDA_UNIT_DISPATCH(ons_dtype_size(((const ons_cuda_elementwise *)launch->state)->output_dtype), run_bit_shift,
                           launch);
}
