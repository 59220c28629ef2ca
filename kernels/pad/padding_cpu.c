/* What the CPU runs of padding.h. */
#include "kernels/pad/padding.h"

#include "kernels/common/layout/channels.h"

ons_status *ons_padding_maps(const ons_padding *padding, ons_arena *arena,
                             ons_axis_map maps[ONS_AT_LEAST(ONS_RANK_MAX)]) {
    for (uint32_t axis = 0; axis < padding->input.rank; ++axis) {
        ons_axis_map *map = &maps[axis];
        int64_t length = padding->output.dims[axis];
        if (padding->before[axis] == 0 && padding->after[axis] == 0) {
            ons_axis_map_keep(map, length);
            continue;
        }
        ONS_TRY(ons_axis_map_make(arena, padding->input.dims[axis], length, length, map));
        for (int64_t i = 0; i < length; ++i) {
            int64_t source = ons_padding_source(padding, axis, i);
            map->first[i + 1] = map->first[i] + (source >= 0);
            if (source < 0) continue;
            map->index[map->first[i]] = source;
            map->weight[map->first[i]] = 1;
        }
    }
    return NULL;
}

ons_padding ons_padding_in_memory(const ons_padding *padding, ons_layout layout) {
    ons_padding result = *padding;
    for (uint32_t i = 0; i < padding->input.rank; ++i) {
        uint32_t axis = ons_channels_axis(layout, padding->input.rank, i);
        result.input.dims[i] = padding->input.dims[axis];
        result.output.dims[i] = padding->output.dims[axis];
        result.before[i] = padding->before[axis];
        result.after[i] = padding->after[axis];
    }
    return result;
}
