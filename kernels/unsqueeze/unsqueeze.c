/* Unsqueeze: with axes of one element put in at the given places of the result. */
#include "kernels/common/layout/axes.h"

static ons_status *unsqueeze_infer(ons_operands *o) {
    int64_t axes[ONS_INTEGERS_MAX];
    uint32_t count, next = 0;
    bool added[ONS_RANK_MAX];
    const ons_shape *input = &o->inputs[0].shape;
    ONS_TRY(ons_constant_integers(o, 1, axes, &count));
    ons_shape shape = {.rank = input->rank + count};
    if (shape.rank > ONS_RANK_MAX)
        return ons_node_error(o, "the result has rank %u, at most %d is possible", shape.rank, ONS_RANK_MAX);
    ONS_TRY(ons_node_axes(o, axes, count, shape.rank, added));
    for (uint32_t i = 0; i < shape.rank; ++i) shape.dims[i] = added[i] ? 1 : input->dims[next++];
    o->outputs[0] = ons_type_make(o->inputs[0].dtype, shape);
    return NULL;
}

ONS_DEFINE_OPERATOR(unsqueeze, "Unsqueeze", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(2, 2, 1, 1), ONS_NO_ATTRIBUTES,
                    ONS_INFER(unsqueeze_infer), ONS_COST(ons_cost_free),
                    ONS_GRADIENT_RULE(ons_view_gradient, ONS_INPUT_BIT(0)), ONS_SAVES_NOTHING,
                    ONS_ANY_PRECISION_OPERATOR, ONS_VIEW_ALIASES, ONS_PLAIN_LAYOUT,
                    ONS_FORMS(ons_upgrade_axes_to_input_1, ONS_NO_PATTERNS, NULL), ONS_REFERENCE(ons_view_reference));
