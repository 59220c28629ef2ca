/* Squeeze: without the given axes of one element; without axes, without all of them. */
#include "kernels/common/layout/axes.h"

static ons_status *squeeze_infer(ons_operands *o) {
    int64_t axes[ONS_INTEGERS_MAX];
    uint32_t count;
    bool dropped[ONS_RANK_MAX];
    const ons_shape *input = &o->inputs[0].shape;
    ONS_TRY(ons_constant_integers(o, 1, axes, &count));
    ONS_TRY(ons_node_axes(o, axes, count, input->rank, dropped));
    ons_shape shape = {0};
    for (uint32_t i = 0; i < input->rank; ++i) {
        bool drop = ons_has_input(o, 1) ? dropped[i] : input->dims[i] == 1;
        if (drop && input->dims[i] != 1)
            return ons_node_error(o, "axis %u has %lld elements and cannot be dropped", i, (long long)input->dims[i]);
        if (!drop) shape.dims[shape.rank++] = input->dims[i];
    }
    o->outputs[0] = ons_type_make(o->inputs[0].dtype, shape);
    return NULL;
}

ONS_DEFINE_OPERATOR(squeeze, "Squeeze", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(1, 2, 1, 1), ONS_NO_ATTRIBUTES,
                    ONS_INFER(squeeze_infer), ONS_COST(ons_cost_free),
                    ONS_GRADIENT_RULE(ons_view_gradient, ONS_INPUT_BIT(0)), ONS_SAVES_NOTHING,
                    ONS_ANY_PRECISION_OPERATOR, ONS_VIEW_ALIASES, ONS_PLAIN_LAYOUT,
                    ONS_FORMS(ons_upgrade_axes_to_input_1, ONS_NO_PATTERNS, NULL), ONS_REFERENCE(ons_view_reference));
