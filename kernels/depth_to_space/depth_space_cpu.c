/* What the CPU runs of depth_space.h. */
#include "kernels/common/layout/channels.h"
#include "kernels/depth_to_space/depth_space.h"

ons_strided ons_depth_space_copy(const ons_type *deep, const ons_type *wide, int64_t block, bool crd, bool to_space) {
    int64_t d[ONS_RANK_MAX], w[ONS_RANK_MAX];
    ons_channels_strides(deep, d);
    ons_channels_strides(wide, w);
    int64_t channel = crd ? block * block * d[1] : d[1], pixel = crd ? d[1] : wide->shape.dims[1] * d[1];
    typedef struct axis {
        int64_t dim, deep, wide;
    } axis;
    const axis channels = {wide->shape.dims[1], channel, w[1]};
    const axis pixels[] = {{deep->shape.dims[2], d[2], block * w[2]},
                           {block, block * pixel, w[2]},
                           {deep->shape.dims[3], d[3], block * w[3]},
                           {block, pixel, w[3]}};
    bool last = wide->layout == ONS_LAYOUT_CHANNELS_LAST;
    ons_strided copy = {.rank = 6, .size = ons_dtype_size(deep->dtype)};
    for (uint32_t i = 0; i < copy.rank; ++i) {
        axis a = {deep->shape.dims[0], d[0], w[0]};
        if (i > 0) a = i == (last ? 5 : 1) ? channels : pixels[i - (last ? 1 : 2)];
        copy.dims[i] = a.dim;
        copy.from[i] = to_space ? a.deep : a.wide;
        copy.to[i] = to_space ? a.wide : a.deep;
    }
    return copy;
}
