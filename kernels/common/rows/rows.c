#include "kernels/common/rows/rows.h"

ons_status *ons_axis_view_of(const ons_operands *o, const ons_shape *shape, int64_t axis, bool flatten,
                             ons_axis_view *view) {
    *view = (ons_axis_view){1, 1, 1};
    if (shape->rank == 0 && (axis == 0 || axis == -1)) return NULL;
    uint32_t resolved;
    ONS_TRY(ons_node_axis(o, axis, shape->rank, &resolved));
    uint32_t end = flatten ? shape->rank : resolved + 1;
    view->outer = ons_shape_span(shape, 0, resolved);
    view->length = ons_shape_span(shape, resolved, end);
    view->inner = ons_shape_span(shape, end, shape->rank);
    return NULL;
}
