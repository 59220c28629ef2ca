/* Flatten: a matrix whose rows are the axes before `axis` and whose columns are the rest. */
#include "kernels/common/layout/axes.h"

enum { AXIS };

static ons_status *flatten_infer(ons_operands *o) {
    const ons_shape *input = &o->inputs[0].shape;
    int64_t axis = ons_attribute_int(o, AXIS);
    axis += axis < 0 ? input->rank : 0;
    if (axis < 0 || axis > input->rank)
        return ons_node_error(o, "axis %lld lies outside a tensor of rank %u", (long long)ons_attribute_int(o, AXIS),
                              input->rank);
    uint32_t split = (uint32_t)axis;
    ons_shape shape = {2, {ons_shape_span(input, 0, split), ons_shape_span(input, split, input->rank)}};
    o->outputs[0] = ons_type_make(o->inputs[0].dtype, shape);
    return NULL;
}

ONS_DEFINE_OPERATOR(flatten, "Flatten", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(1, 1, 1, 1),
                    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("axis", 1)), ONS_INFER(flatten_infer), ONS_COST(ons_cost_free),
                    ONS_GRADIENT_RULE(ons_view_gradient, ONS_INPUT_BIT(0)), ONS_SAVES_NOTHING,
                    ONS_ANY_PRECISION_OPERATOR, ONS_VIEW_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(ons_view_reference));
