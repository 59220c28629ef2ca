#include "kernels/common/cuda/cuda_each.cuh"
extern "C" {
#include "kernels/col2im/unfold.h"
}

namespace {

template <class T> struct shown {
    ons_unfold u;
    const T *image;
    T *columns;
    __device__ void operator()(int64_t i) const {
        int64_t row = i / u.positions, block = i - row * u.positions, plane = row / u.taps, tap = row - plane * u.taps;
        int64_t pixel = 0, scale = 1;
        bool inside = true;
        for (int d = (int)u.dims - 1; d >= 0; --d) {
            int64_t at = block % u.blocks[d] * u.stride[d] + tap % u.block[d] * u.dilation[d] - u.begin[d];
            inside = inside && at >= 0 && at < u.image[d];
            pixel += at * scale;
            scale *= u.image[d];
            block /= u.blocks[d];
            tap /= u.block[d];
        }
        columns[i] = inside ? image[plane * u.pixels + pixel] : ons::narrow<T>(0.0f);
    }
};

template <class T> void run_col2im_gradient(const ons_launch *l, const ons_unfold *u) {
    ons::each(l, u->batch * u->channels * u->taps * u->positions,
              shown<T>{*u, (const T *)l->inputs[0], (T *)l->outputs[0]});
}

} // namespace

extern "C" void ons_cuda_run_col2im_gradient(const ons_launch *launch) {
    ONS_CUDA_TYPED_DISPATCH(ons_unfold, run_col2im_gradient, launch);
}
