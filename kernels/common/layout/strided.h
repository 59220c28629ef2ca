/* Copies between tensors whose elements lie at regular distances: what Transpose, Slice, Expand, Concat, Split, Tile
 * and their gradients have in common.
 *
 * A copy is a box of dims[0] × … elements with a distance for each axis on both sides. Axes may be given in any order;
 * a distance of 0 repeats an element, a negative one reverses. ons_strided_plan drops axes of one element, joins axes
 * that are contiguous on both sides, and brings the two that decide the inner loop to the end:
 *
 *     rows     both sides contiguous along the last axis: whole rows are copied      (Split, attention's [0,2,1,3])
 *     tiles    each side is contiguous along another axis: blocks of 16 × 16 are transposed in registers
 *     general  element by element
 */
#ifndef ONSTAGE_KERNELS_COMMON_LAYOUT_STRIDED_H
#define ONSTAGE_KERNELS_COMMON_LAYOUT_STRIDED_H

#include "kernels/common/layout/index.h"
#include "kernels/common/operator/kernel.h"

enum { ONS_STRIDED_RANK = 2 * ONS_RANK_MAX + 2 };

typedef struct ons_strided {
    uint32_t rank;
    size_t size; /* bytes of an element: 1, 2, 4 or 8 */
    int64_t dims[ONS_STRIDED_RANK];
    int64_t from[ONS_STRIDED_RANK]; /* in elements */
    int64_t to[ONS_STRIDED_RANK];
    int64_t from_offset, to_offset;
    bool tiles;
} ons_strided;

/* The dense tensor `shape` on both sides; callers then change what differs. */
ons_strided ons_strided_dense(ons_dtype dtype, const ons_shape *shape);

/* A box of these dims with the distances along each axis of both sides; its axes come in the order in which they lie in
 * memory in that layout: ONNX's, or channels last. */
ons_strided ons_strided_box(ons_dtype dtype, const ons_shape *dims, ons_layout layout, const int64_t *from,
                            const int64_t *to);

void ons_strided_plan(ons_strided *s);

/* Reads and writes exactly the box. Threads share the work. */
void ons_strided_copy(const ons_strided *s, const void *from, void *to);

/* For kernels that are one strided copy of input 0 to output 0: state is a planned ons_strided. */
ons_status *ons_strided_prepare(ons_prepare *p, const ons_strided *s);
void ons_strided_run(const ons_launch *launch);
void ons_cuda_strided_run(const ons_launch *launch);

#endif
