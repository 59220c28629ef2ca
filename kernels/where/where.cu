#include "kernels/common/cuda_elementwise.cuh"

namespace {

template <class Unit> struct chosen : ons::with_parameters {
    __device__ Unit operator()(int64_t condition, ons::work_t<Unit> a, ons::work_t<Unit> b) const {
        return (Unit)(condition != 0 ? a : b);
    }
};

template <class Unit> void choose(const ons_launch *l) {
    ons::run_3<Unit, uint8_t, Unit, Unit>(l, ons::formula<chosen<Unit>>(l));
}

} // namespace

/* Elements are moved, not looked at: by their size. */
extern "C" void ons_cuda_where(const ons_launch *launch) {
    switch (ons_dtype_size(((const ons_cuda_elementwise *)launch->state)->output_dtype)) {
    case 1: choose<uint8_t>(launch); break;
    case 2: choose<uint16_t>(launch); break;
    case 4: choose<uint32_t>(launch); break;
    default: choose<uint64_t>(launch); break;
    }
}
