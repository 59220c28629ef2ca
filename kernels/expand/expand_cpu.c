/* Expand on the CPU. */
#include "kernels/expand/expand.h"

#include "kernels/common/layout/channels.h"
#include "kernels/common/layout/strided.h"

ons_status *ons_expand_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    const ons_type *out = &o->outputs[0];
    ons_strided copy = {.rank = out->shape.rank, .size = ons_dtype_size(out->dtype)};
    int64_t from[ONS_RANK_MAX], to[ONS_RANK_MAX];
    find_strides(o, from);
    ons_channels_strides(out, to);
    for (uint32_t place = 0; place < copy.rank; ++place) {
        uint32_t axis = ons_channels_axis(out->layout, copy.rank, place);
        copy.dims[place] = out->shape.dims[axis];
        copy.from[place] = from[axis];
        copy.to[place] = to[axis];
    }
    return ons_strided_prepare(p, &copy);
}

ONS_KERNELS(cpu, expand, ONS_KERNEL(ons_expand_prepare, ons_strided_run))
