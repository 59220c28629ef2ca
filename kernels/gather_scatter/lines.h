/* Lookups along one axis, for GatherElements, ScatterElements and their gradients: element i of the indices names the
 * element of the data at the same place, but along the axis at indices[i].
 *
 * A line is what differs along the axis alone. Two elements of different lines never name the same element of the data,
 * so lines (or blocks of neighbouring ones) are shared among threads, and within a line updates come in order.
 */
#ifndef ONSTAGE_KERNELS_GATHER_SCATTER_LINES_H
#define ONSTAGE_KERNELS_GATHER_SCATTER_LINES_H

#include "kernels/common/indexing/indexing.h"

enum { ONS_LINE_BLOCK = 64 };

typedef struct ons_line_map {
    ons_shape data, indices;
    uint32_t axis;
    ons_dtype index_dtype;
    int64_t outer, count, inner;  /* of the indices: lines before the axis, elements along it, lines after it */
    int64_t length, stride;       /* of the data along the axis */
    bool dense;                   /* the axes after it are the same in data and indices */
    int64_t tasks, steps, blocks; /* a task is a block of lines and takes `steps` steps */
} ons_line_map;

/* A step's elements: [first, first + count) of the indices name the targets, -1 where an index lies outside. */
typedef struct ons_line_block {
    int64_t lines[ONS_LINE_BLOCK]; /* where each line begins in the data */
    int64_t task, width, column;
    int64_t first, count;
    int64_t targets[ONS_LINE_BLOCK];
} ons_line_block;

/* Checks data and indices (inputs by number) and fails with the node's name. */
ons_status *ons_line_map_of(const ons_operands *o, const ons_shape *data, uint32_t indices, int64_t axis,
                            ons_line_map *map);

/* The element that element `number` of the indices names; `index` is its value. */
int64_t ons_line_target(const ons_line_map *map, int64_t number, int64_t index);

/* ons_line_target for references: an index outside is told. */
int64_t ons_line_reference(const ons_line_map *map, const ons_step *step, int64_t number, int64_t index);

void ons_line_begin(const ons_line_map *map, int64_t task, ons_line_block *block);

/* Faults are noted in `launch` unless that is NULL (a gradient: the forward node has told). */
void ons_line_step(const ons_line_map *map, const void *indices, int64_t step, ons_line_block *block,
                   const ons_launch *launch);

/* Whether a loop over the tasks is worth threads. */
static inline bool ons_lines_parallel(const ons_line_map *map) {
    return map->outer * map->count * map->inner > ONS_PARALLEL_GRAIN / 4;
}

/* Threads share the bytes. */
void ons_copy_bytes(void *to, const void *from, int64_t bytes);
void ons_zero_bytes(void *to, int64_t bytes);

#endif
