#include "kernels/common/cuda/cuda_each.cuh"
#include "kernels/common/layout/cuda_strided.cuh"
extern "C" {
#include "kernels/slice/slicing.h"
}

namespace {

/* Adds element i of a box to its place. */
struct add_to_box {
    ons_strided box;
    const float *from;
    float *to;
    __device__ void operator()(int64_t i) const {
        int64_t source = box.from_offset, target = box.to_offset;
        for (int d = (int)box.rank - 1; d > 0; --d) {
            int64_t rest = i / box.dims[d], index = i - rest * box.dims[d];
            source += index * box.from[d];
            target += index * box.to[d];
            i = rest;
        }
        source += i * box.from[0];
        target += i * box.to[0];
        to[target] += from[source];
    }
};

} // namespace

extern "C" void ons_cuda_run_slice_gradient(const ons_launch *launch) {
    const ons_slice_gradient *s = (const ons_slice_gradient *)launch->state;
    void *out = launch->outputs[0];
    if (s->adds) {
        ons::copy_bytes(launch, out, launch->inputs[ONS_SLICE_GRADIENT_ADDED], s->bytes);
        ons::each(launch, s->elements, add_to_box{s->copy, (const float *)launch->inputs[0], (float *)out});
        return;
    }
    if (!s->covers) ons::zero_bytes(launch, out, s->bytes);
    ons::copy_strided_box(launch, &s->copy, launch->inputs[0], out);
}
