#include "kernels/common/cuda/cuda_each.cuh"
extern "C" {
#include "kernels/one_hot/one_hot.h"
}

namespace {

/* An index that is given as a float and is none points outside. */
__device__ inline int64_t class_number(ons_dtype dtype, const void *indices, int64_t i) {
    if (dtype == ONS_INT64) return ((const int64_t *)indices)[i];
    if (dtype == ONS_INT32) return ((const int32_t *)indices)[i];
    float index = ((const float *)indices)[i];
    return index > -0x1p52f && index < 0x1p52f ? (int64_t)index : INT64_MAX;
}

template <class Unit> struct hot {
    ons_one_hot s;
    const void *indices;
    const Unit *values;
    Unit *out;
    __device__ void operator()(int64_t i) const {
        int64_t rest = i / s.inner, outer = rest / s.depth;
        int64_t index = class_number(s.index_dtype, indices, outer * s.inner + (i - rest * s.inner));
        index += index < 0 ? s.depth : 0;
        out[i] = values[index == rest - outer * s.depth ? 1 : 0];
    }
};

template <class Unit> void run_one_hot(const ons_launch *l, const ons_one_hot *s) {
    hot<Unit> f = {*s, l->inputs[0], (const Unit *)l->inputs[2], (Unit *)l->outputs[0]};
    ons::each(l, s->elements, f);
}

} // namespace

extern "C" void ons_cuda_run_one_hot(const ons_launch *launch) {
    const ons_one_hot *s = (const ons_one_hot *)launch->state;
    ONS_CUDA_UNIT_DISPATCH(s->size, run_one_hot, launch, s);
}
