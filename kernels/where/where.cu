#include "kernels/common/elementwise/cuda_elementwise.cuh"

namespace {

struct where_formula : ons::with_parameters {
    template <class W> __device__ W operator()(int64_t condition, W a, W b) const { return condition != 0 ? a : b; }
};

} // namespace

ONS_CUDA_MIXED(where)

#ifdef ONS_CUDA_OWN_KERNELS

namespace {

template <class Unit> void choose(const ons_launch *l) {
    ons::run_3<Unit, uint8_t, Unit, Unit>(l, ons::formula<where_formula>(l));
}

} // namespace

/* Elements are moved, not looked at: by their size. */
extern "C" void ons_cuda_run_where(const ons_launch *launch) {
    switch (ons_dtype_size(((const ons_cuda_elementwise *)launch->state)->output_dtype)) {
    case 1: choose<uint8_t>(launch); break;
    case 2: choose<uint16_t>(launch); break;
    case 4: choose<uint32_t>(launch); break;
    default: choose<uint64_t>(launch); break;
    }
}

#endif

ONS_KERNELS(cuda, where, ONS_KERNEL(ons_cuda_move_prepare, ons_cuda_run_where))
