/* Tile on the CPU. */
#include "kernels/tile/tile.h"

#include "kernels/common/layout/strided.h"

ons_status *ons_tile_prepare(ons_prepare *p) {
    const ons_shape *from = &p->operands->inputs[0].shape, *to = &p->operands->outputs[0].shape;
    ons_strided copy = {.rank = 2 * from->rank, .size = ons_dtype_size(p->operands->inputs[0].dtype)};
    int64_t from_strides[ONS_RANK_MAX] = {0}, to_strides[ONS_RANK_MAX] = {0};
    ons_dense_strides(from, from_strides);
    ons_dense_strides(to, to_strides);
    for (uint32_t i = 0; i < from->rank; ++i) {
        copy.dims[2 * i] = from->dims[i] == 0 ? 0 : to->dims[i] / from->dims[i];
        copy.dims[2 * i + 1] = from->dims[i];
        copy.to[2 * i] = to_strides[i] * from->dims[i];
        copy.to[2 * i + 1] = to_strides[i];
        copy.from[2 * i + 1] = from_strides[i];
    }
    return ons_strided_prepare(p, &copy);
}

ONS_KERNELS(cpu, tile, ONS_KERNEL(ons_tile_prepare, ons_strided_run))
