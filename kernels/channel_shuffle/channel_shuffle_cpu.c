/* ChannelShuffle on the CPU. */
#include "kernels/channel_shuffle/channel_shuffle.h"

#include "kernels/common/layout/channels.h"
#include "kernels/common/layout/strided.h"

/* The channels as two axes, which the copy reads in the one order and writes in the other. */
ons_status *ons_channel_shuffle_prepare(ons_prepare *p) {
    const ons_type *type = &p->operands->inputs[0];
    uint32_t rank = type->shape.rank;
    int64_t strides[ONS_RANK_MAX], groups = ons_attribute_int(p->operands, GROUPS), size = type->shape.dims[1] / groups;
    ons_channels_strides(type, strides);
    ons_strided copy = {.rank = 0, .size = ons_dtype_size(type->dtype)};
    for (uint32_t place = 0; place < rank; ++place) {
        uint32_t axis = ons_channels_axis(type->layout, rank, place);
        int64_t stride = strides[axis];
        if (axis != 1) {
            copy.dims[copy.rank] = type->shape.dims[axis];
            copy.from[copy.rank] = copy.to[copy.rank] = stride;
            ++copy.rank;
            continue;
        }
        memcpy(copy.dims + copy.rank, (int64_t[]){size, groups}, 2 * sizeof *copy.dims);
        memcpy(copy.from + copy.rank, (int64_t[]){stride, size * stride}, 2 * sizeof *copy.from);
        memcpy(copy.to + copy.rank, (int64_t[]){groups * stride, stride}, 2 * sizeof *copy.to);
        copy.rank += 2;
    }
    return ons_strided_prepare(p, &copy);
}

ONS_KERNELS(cpu, channel_shuffle, ONS_KERNEL(ons_channel_shuffle_prepare, ons_strided_run))
