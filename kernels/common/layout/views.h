/* Where the elements of a value lie in one that it was made of by nothing but moving them: reshaped, transposed, split,
 * sliced, or one entry of an axis chosen. */
#ifndef ONSTAGE_KERNELS_COMMON_LAYOUT_VIEWS_H
#define ONSTAGE_KERNELS_COMMON_LAYOUT_VIEWS_H

#include "graph/graph.h"

/* `count` places, `step` elements of the base apart. */
typedef struct ons_view_part {
    int64_t count, step;
} ons_view_part;

enum { ONS_VIEW_PARTS = 16 };

/* An axis is a product of parts, the outer ones first: batch and heads that became one axis lie in two distances. Parts
 * of axis i are those from ends[i - 1] (0 of the first) to ends[i]. */
typedef struct ons_view {
    int64_t start; /* the first element's place in the base */
    ons_shape shape;
    uint32_t ends[ONS_RANK_MAX];
    ons_view_part parts[ONS_VIEW_PARTS];
} ons_view;

/* The value of which `value` is a view by one step, or ONS_NONE. `scale` NULL: elements are the same; else what is
 * multiplied by a positive number counts as the same, and *scale is multiplied by that number. */
ons_value_id ons_view_source(const ons_graph *graph, ons_value_id value, double *scale);

/* What a value was before nothing but its shape changed. */
ons_value_id ons_view_unshaped(const ons_graph *graph, ons_value_id value);

/* `value` in `base`; false where it is none of its views, or one that parts cannot say. `scale` NULL: elements are the
 * same; else *scale is set to the product of all positive numbers on the way. */
bool ons_view_within(const ons_graph *graph, ons_value_id base, ons_value_id value, double *scale, ons_view *view);

/* Gives a view of its elements another shape, in their order; false where an axis would begin within a part. */
bool ons_view_reshape(ons_view *view, const ons_shape *shape);
void ons_view_transpose(ons_view *view, const uint32_t perm[ONS_AT_LEAST(ONS_RANK_MAX)]);

/* The parts of axes [first, end) that do not continue each other; returns how many. Parts of one place are left out. */
uint32_t ons_view_parts(const ons_view *view, uint32_t first, uint32_t end,
                        ons_view_part parts[ONS_AT_LEAST(ONS_VIEW_PARTS)]);

#endif
