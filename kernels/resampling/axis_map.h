/* Linear maps along the axes of a tensor, one after the other: what Resize, Pad in its modes that continue the tensor,
 * and their gradients have in common.
 *
 * The map of an axis gives each element of the result a few taps: elements of the operand with a weight each. A
 * gradient is the same with every map transposed.
 */
#ifndef ONSTAGE_KERNELS_RESAMPLING_AXIS_MAP_H
#define ONSTAGE_KERNELS_RESAMPLING_AXIS_MAP_H

#include "kernels/common/layout/index.h"
#include "kernels/common/operator/kernel.h"

typedef struct ons_axis_map {
    bool identity; /* nothing changes along this axis; the tables are not there */
    int64_t inputs, outputs;
    int64_t *first; /* the taps of element i are [first[i], first[i + 1]); none: it shows the fill value */
    int64_t *index;
    double *weight;
} ons_axis_map;

/* Tables for at most `taps` taps, all zero. */
ons_status *ons_axis_map_make(ons_arena *arena, int64_t inputs, int64_t outputs, int64_t taps, ons_axis_map *map);
void ons_axis_map_keep(ons_axis_map *map, int64_t length); /* identity of that length */
ons_status *ons_axis_map_transpose(ons_arena *arena, const ons_axis_map *map, ons_axis_map *transposed);

/* Element by element, in words of double; `from` has the maps' inputs as its shape. */
void ons_axis_map_apply(uint32_t rank, const ons_axis_map *maps, double fill, const double *from, double *to);
/* The transpose, by adding every element of `from` (the maps' outputs) to where it came from. */
void ons_axis_map_apply_transposed(uint32_t rank, const ons_axis_map *maps, const double *from, double *to);

/* Where the only tap along each axis lies, as an element's number; -1 where there is none. */
int64_t ons_axis_map_source(uint32_t rank, const ons_axis_map *maps, int64_t output);

#endif
