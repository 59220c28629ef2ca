#include "kernels/det/determinant.h"

#include "kernels/common/operator/checks.h"

ons_status *ons_square_matrices(const ons_operands *o, int64_t *count, int64_t *size) {
    char text[ONS_TYPE_TEXT];
    const ons_shape *shape = &o->inputs[0].shape;
    ONS_TRY(ons_need_float(o, 0));
    if (shape->rank < 2 || shape->dims[shape->rank - 1] != shape->dims[shape->rank - 2])
        return ons_node_error(o, "%s does not consist of square matrices", ons_type_print(&o->inputs[0], text));
    *count = ons_shape_span(shape, 0, shape->rank - 2);
    *size = shape->dims[shape->rank - 1];
    return NULL;
}
