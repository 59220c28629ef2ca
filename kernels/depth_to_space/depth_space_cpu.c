/* What the CPU runs of depth_space.h. */
#include "kernels/depth_to_space/depth_space.h"

/* Axes of the copy: N, C, row in block, column in block, H, W. */
ons_strided ons_depth_space_copy(ons_dtype dtype, const ons_shape *deep, int64_t block, bool channels_last,
                                 bool to_space) {
    int64_t n = deep->dims[0], c = deep->dims[1] / (block * block), h = deep->dims[2], w = deep->dims[3], area = h * w;
    int64_t channel = channels_last ? block * block * area : area, pixel = channels_last ? area : c * area;
    ons_strided copy = {
        .rank = 6,
        .size = ons_dtype_size(dtype),
        .dims = {n, c, h, block, w, block},
        .from = {deep->dims[1] * area, channel, w, pixel * block, 1, pixel},
        .to = {deep->dims[1] * area, area * block * block, w * block * block, w * block, block, 1},
    };
    for (uint32_t i = 0; i < copy.rank && !to_space; ++i) {
        int64_t from = copy.from[i];
        copy.from[i] = copy.to[i];
        copy.to[i] = from;
    }
    return copy;
}
