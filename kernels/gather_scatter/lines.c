#include "kernels/gather_scatter/lines.h"

ons_status *ons_line_map_of(const ons_operands *o, const ons_shape *data, uint32_t indices, int64_t axis,
                            ons_line_map *map) {
    const ons_shape *shape = &o->inputs[indices].shape;
    uint32_t resolved;
    ONS_TRY(ons_node_axis(o, axis, data->rank, &resolved));
    ONS_TRY(ons_check_indices(o, indices, data->dims[resolved]));
    if (shape->rank != data->rank)
        return ons_node_error(o, "indices of rank %u for data of rank %u", shape->rank, data->rank);
    bool dense = true;
    for (uint32_t i = 0; i < data->rank; ++i) {
        if (i != resolved && shape->dims[i] > data->dims[i])
            return ons_node_error(o, "the indices are longer than the data along axis %u", i);
        dense &= i <= resolved || shape->dims[i] == data->dims[i];
    }
    *map = (ons_line_map){
        .data = *data,
        .indices = *shape,
        .axis = resolved,
        .index_dtype = o->inputs[indices].dtype,
        .outer = ons_shape_span(shape, 0, resolved),
        .count = shape->dims[resolved],
        .inner = ons_shape_span(shape, resolved + 1, shape->rank),
        .length = data->dims[resolved],
        .stride = ons_shape_span(data, resolved + 1, data->rank),
        .dense = dense,
    };
    map->blocks = (map->inner + ONS_LINE_BLOCK - 1) / ONS_LINE_BLOCK;
    map->tasks = map->count == 0 ? 0 : map->outer * map->blocks;
    map->steps = map->inner == 1 ? (map->count + ONS_LINE_BLOCK - 1) / ONS_LINE_BLOCK : map->count;
    return NULL;
}

int64_t ons_line_target(const ons_line_map *map, int64_t number, int64_t index) {
    int64_t at[ONS_RANK_MAX];
    int64_t row = ons_resolve_index(index, map->length);
    if (row < 0) return -1;
    ons_unravel(&map->indices, number, at);
    at[map->axis] = row;
    return ons_ravel(&map->data, at);
}

int64_t ons_line_reference(const ons_line_map *map, const ons_step *step, int64_t number, int64_t index) {
    ons_reference_index(step, number, index, map->length);
    return ons_line_target(map, number, index);
}
