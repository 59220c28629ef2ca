#include "kernels/common/cuda/cuda_each.cuh"
extern "C" {
#include "kernels/col2im/unfold.h"
}

namespace {

/* Each pixel collects from the blocks that show it, tap by tap. */
template <class T> struct collected {
    ons_unfold u;
    const T *columns;
    T *image;

    /* The block that shows the pixel with that tap, or -1. */
    __device__ int64_t block_of(int64_t pixel, int64_t tap) const {
        int64_t block = 0, scale = 1;
        for (int d = (int)u.dims - 1; d >= 0; --d) {
            int64_t distance = pixel % u.image[d] + u.begin[d] - tap % u.block[d] * u.dilation[d];
            int64_t at = distance / u.stride[d];
            if (distance < 0 || at >= u.blocks[d] || at * u.stride[d] != distance) return -1;
            block += at * scale;
            scale *= u.blocks[d];
            pixel /= u.image[d];
            tap /= u.block[d];
        }
        return block;
    }
    __device__ void operator()(int64_t i) const {
        int64_t plane = i / u.pixels, pixel = i - plane * u.pixels;
        float sum = 0;
        for (int64_t tap = 0; tap < u.taps; ++tap) {
            int64_t block = block_of(pixel, tap);
            if (block >= 0) sum += ons::widen(columns[(plane * u.taps + tap) * u.positions + block]);
        }
        image[i] = ons::narrow<T>(sum);
    }
};

template <class T> void run_col2im(const ons_launch *l, const ons_unfold *u) {
    ons::each(l, u->batch * u->channels * u->pixels, collected<T>{*u, (const T *)l->inputs[0], (T *)l->outputs[0]});
}

} // namespace

extern "C" void ons_cuda_run_col2im(const ons_launch *launch) {
    ONS_CUDA_TYPED_DISPATCH(ons_unfold, run_col2im, launch);
}
