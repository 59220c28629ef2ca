/* What the CPU runs of lines.h. */
#include "kernels/gather_scatter/lines.h"

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
