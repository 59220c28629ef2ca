/* DeformConv on CUDA: what every tap reads is gathered to columns, of one sample at a time, and multiplied from there.
 */
#ifndef ONSTAGE_KERNELS_DEFORM_CONV_CUDA_DEFORMABLE_CUH
#define ONSTAGE_KERNELS_DEFORM_CONV_CUDA_DEFORMABLE_CUH

#include "kernels/common/cuda/cuda_each.cuh"
extern "C" {
#include "kernels/deform_conv/cuda_deformable.h"
}

namespace ons {

/* A sample's operands. */
struct deformable_sample {
    ons_deformable d;
    const float *x, *offsets, *mask; /* mask nullptr: 1 */

    /* Column number `i` is of (channel, tap, position). */
    struct place {
        int64_t channel, tap, at, group;
    };
    __device__ place place_of(int64_t i) const {
        int64_t row = i / d.positions, channel = row / d.taps;
        return {channel, row - channel * d.taps, i - row * d.positions, channel / (d.channels / d.offset_groups)};
    }
    __device__ ons_exact_corners corners(const place &p) const {
        ons_exact_corners c;
        int64_t offset = ons_deformable_offset_at(&d, p.group, p.tap, p.at);
        ons_deformable_corners(&d, p.tap, p.at, offsets[offset], offsets[offset + d.positions], &c);
        return c;
    }
    __device__ float factor(const place &p) const {
        return mask == nullptr ? 1 : mask[ons_deformable_mask_at(&d, p.group, p.tap, p.at)];
    }
    __device__ float read(const place &p, const ons_exact_corners &c, const double *weights) const {
        const float *plane = x + p.channel * d.pixels;
        float sum = 0;
        for (int i = 0; i < 4; ++i) sum += (float)weights[i] * plane[c.pixels[i]];
        return sum;
    }
};

inline deformable_sample sample_of(const ons_deformable &d, int64_t n, const float *x, const float *offsets,
                                   const float *mask) {
    int64_t lines = d.offset_groups * d.taps * d.positions;
    return {d, x + n * d.channels * d.pixels, offsets + 2 * n * lines, mask == nullptr ? nullptr : mask + n * lines};
}

struct gather_columns {
    deformable_sample s;
    float *columns;
    __device__ void operator()(int64_t i) const {
        deformable_sample::place p = s.place_of(i);
        ons_exact_corners c = s.corners(p);
        columns[i] = s.read(p, c, c.weights) * s.factor(p);
    }
};

} // namespace ons

#endif
