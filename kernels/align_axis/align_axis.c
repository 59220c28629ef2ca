/* AlignAxis: how operators of before opset 7 broadcast with `axis`: the first operand, whose shape matches the second's
 * from that axis on, gets the dimensions of size 1 behind that today's broadcasting needs. One element stays as it is.
 * A view; the second operand lends its shape alone. */
#include "kernels/align_axis/align_axis.h"

#include "kernels/common/layout/axes.h"

static ons_status *align_axis_infer(ons_operands *o) {
    int64_t axis = ons_attribute_int(o, AXIS);
    ons_shape shape = o->inputs[0].shape;
    uint32_t rank = o->inputs[1].shape.rank;
    if (ons_shape_elements(&shape) != 1) {
        axis += axis < 0 ? rank : 0;
        if (axis < 0 || axis + shape.rank > rank)
            return ons_node_error(o, "an operand of rank %u cannot be broadcast from axis %lld of one of rank %u on",
                                  shape.rank, (long long)ons_attribute_int(o, AXIS), rank);
        while (axis + shape.rank < rank) shape.dims[shape.rank++] = 1;
    }
    o->outputs[0] = ons_type_make(o->inputs[0].dtype, shape);
    return NULL;
}

ONS_DEFINE_OPERATOR(align_axis, "AlignAxis", ONS_INTERNAL, ONS_ARITY(2, 2, 1, 1),
                    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("axis", 0)), ONS_INFER(align_axis_infer), ONS_COST(ons_cost_free),
                    ONS_GRADIENT_RULE(ons_view_gradient, ONS_INPUT_BIT(0)), ONS_SAVES_NOTHING,
                    ONS_ANY_PRECISION_OPERATOR, ONS_VIEW_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(ons_view_reference));
