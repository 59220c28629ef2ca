/* Windows on CUDA: a thread for each result of a pooling goes through its window, one for each element of a gradient through the windows
 * that hold it. */
#ifndef ONSTAGE_KERNELS_COMMON_CUDA_POOLING_CUH
#define ONSTAGE_KERNELS_COMMON_CUDA_POOLING_CUH

#include "kernels/common/cuda_each.cuh"
extern "C" {
#include "kernels/common/cuda_pooling.h"
#include "kernels/common/lp_terms.h"
}

namespace ons {

/* Element `i` of a side whose planes have `here` positions: its position there, and where the other side's plane of the same channel
 * begins, whose positions lie s.width apart. */
struct pooled {
    int64_t at, first, plane;
};
__device__ inline pooled pooled_of(const ons_cuda_pooling &s, int64_t i, int64_t here, int64_t there) {
    int64_t position = i / s.width, channel = i - position * s.width, plane = position / here;
    return {position - plane * here, plane * there * s.width + channel, plane};
}
inline int64_t pooled_elements(const ons_cuda_pooling *s, int64_t positions) { return s->planes * s->width * positions; }

struct position {
    int64_t at[ONS_WINDOW_DIMS];
};
__device__ inline position position_of(const int64_t *sizes, int64_t number) {
    int64_t rest = number / sizes[2], z = rest / sizes[1];
    return {{z, rest - z * sizes[1], number - rest * sizes[2]}};
}

/* Calls f(tap, input position) for every tap of a window that lies inside of the input, in order. */
template <class F> __device__ inline void for_taps(const ons_window &w, int64_t output, F f) {
    position out = position_of(w.output, output);
    int64_t z0 = out.at[0] * w.stride[0] - w.begin[0], y0 = out.at[1] * w.stride[1] - w.begin[1],
            x0 = out.at[2] * w.stride[2] - w.begin[2];
    for (int64_t kz = 0; kz < w.kernel[0]; ++kz) {
        int64_t z = z0 + kz * w.dilation[0];
        if (z < 0 || z >= w.input[0]) continue;
        for (int64_t ky = 0; ky < w.kernel[1]; ++ky) {
            int64_t y = y0 + ky * w.dilation[1];
            if (y < 0 || y >= w.input[1]) continue;
            for (int64_t kx = 0; kx < w.kernel[2]; ++kx) {
                int64_t x = x0 + kx * w.dilation[2];
                if (x >= 0 && x < w.input[2])
                    f((kz * w.kernel[1] + ky) * w.kernel[2] + kx, (z * w.input[1] + y) * w.input[2] + x);
            }
        }
    }
}

/* The output in one dim whose window has `at` (the padding before it included) at tap k; -1 where there is none. */
__device__ inline int64_t window_with(const ons_window &w, int dim, int64_t at, int64_t k) {
    int64_t distance = at - k * w.dilation[dim], output = distance / w.stride[dim];
    return distance < 0 || output >= w.output[dim] || output * w.stride[dim] != distance ? -1 : output;
}

/* Calls f(tap, output) for every window that holds an input position. */
template <class F> __device__ inline void for_windows(const ons_window &w, int64_t input, F f) {
    position in = position_of(w.input, input);
    for (int64_t kz = 0; kz < w.kernel[0]; ++kz) {
        int64_t z = window_with(w, 0, in.at[0] + w.begin[0], kz);
        if (z < 0) continue;
        for (int64_t ky = 0; ky < w.kernel[1]; ++ky) {
            int64_t y = window_with(w, 1, in.at[1] + w.begin[1], ky);
            if (y < 0) continue;
            for (int64_t kx = 0; kx < w.kernel[2]; ++kx) {
                int64_t x = window_with(w, 2, in.at[2] + w.begin[2], kx);
                if (x >= 0) f((kz * w.kernel[1] + ky) * w.kernel[2] + kx, (z * w.output[1] + y) * w.output[2] + x);
            }
        }
    }
}

/* What an average divides by: see ons_pooling_divisor_at. */
__device__ inline int64_t average_divisor(const ons_window &w, bool include_pad, int64_t output) {
    position out = position_of(w.output, output);
    int64_t count = 1;
    for (int d = 0; d < ONS_WINDOW_DIMS; ++d) {
        int64_t inside = 0, room = w.input[d] + w.begin[d] + w.end[d] - out.at[d] * w.stride[d];
        for (int64_t k = 0; k < w.kernel[d]; ++k) {
            int64_t at = out.at[d] * w.stride[d] + k * w.dilation[d] - w.begin[d];
            inside += include_pad ? k * w.dilation[d] < room : at >= 0 && at < w.input[d];
        }
        count *= inside;
    }
    return count;
}

} // namespace ons

#endif
