#include "kernels/common/lines.h"

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

/* Where the data's element lies that has the same place on axes [first, last) as number `number` of the indices. */
static int64_t offset_on(const ons_line_map *map, uint32_t first, uint32_t last, int64_t number) {
    int64_t offset = 0, stride = ons_shape_span(&map->data, last, map->data.rank);
    for (uint32_t i = last; i-- > first;) {
        offset += number % map->indices.dims[i] * stride;
        number /= map->indices.dims[i];
        stride *= map->data.dims[i];
    }
    return offset;
}

void ons_line_begin(const ons_line_map *map, int64_t task, ons_line_block *block) {
    int64_t outer = task / map->blocks, column = task % map->blocks * ONS_LINE_BLOCK;
    int64_t before = offset_on(map, 0, map->axis, outer);
    block->task = task;
    block->column = column;
    block->width = map->inner - column < ONS_LINE_BLOCK ? map->inner - column : ONS_LINE_BLOCK;
    for (int64_t i = 0; i < block->width; ++i)
        block->lines[i] =
            before + (map->dense ? column + i : offset_on(map, map->axis + 1, map->data.rank, column + i));
}

void ons_line_step(const ons_line_map *map, const void *indices, int64_t step, ons_line_block *block,
                   const ons_launch *launch) {
    int64_t outer = block->task / map->blocks;
    bool along = map->inner == 1; /* one line: a step is a piece of it */
    if (along) {
        block->first = outer * map->count + step * ONS_LINE_BLOCK;
        block->count = map->count - step * ONS_LINE_BLOCK;
        block->count = block->count < ONS_LINE_BLOCK ? block->count : ONS_LINE_BLOCK;
    } else {
        block->first = (outer * map->count + step) * map->inner + block->column;
        block->count = block->width;
    }
    for (int64_t i = 0; i < block->count; ++i) {
        int64_t index = ons_index_at(map->index_dtype, indices, block->first + i);
        int64_t row = ons_resolve_index(index, map->length);
        if (row < 0 && launch != NULL) ons_fault_index(launch, block->first + i, index);
        block->targets[i] = row < 0 ? -1 : block->lines[along ? 0 : i] + row * map->stride;
    }
}

enum { PIECE = 1 << 16 };

void ons_copy_bytes(void *to, const void *from, int64_t bytes) {
#pragma omp parallel for schedule(static) if (bytes > 4 * PIECE)
    for (int64_t at = 0; at < bytes; at += PIECE)
        memcpy((char *)to + at, (const char *)from + at, (size_t)(bytes - at < PIECE ? bytes - at : PIECE));
}

void ons_zero_bytes(void *to, int64_t bytes) {
#pragma omp parallel for schedule(static) if (bytes > 4 * PIECE)
    for (int64_t at = 0; at < bytes; at += PIECE)
        memset((char *)to + at, 0, (size_t)(bytes - at < PIECE ? bytes - at : PIECE));
}
