/* Squeeze: without the given axes of one element; without axes, without all of them. */
#include "kernels/common/axes.h"

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

static const ons_case squeeze_cases[] = {
    {.name = "one", .inputs = {ONS_F32(3, 1, 4), ONS_I64(1)}},
    {.name = "negative", .inputs = {ONS_F32(1, 3, 1), ONS_I64(-1)}},
    {.name = "all", .inputs = {ONS_F32(1, 3, 1, 2)}},
    {.name = "to_rank0", .inputs = {ONS_F32(1, 1), ONS_I64(0, 1)}},
    {.name = "integers", .inputs = {ONS_RANDOM(ONS_INT64, -9, 9, 1), ONS_I64(0)}},
    {.name = "too_long", .inputs = {ONS_F32(3, 4), ONS_I64(0)}, .error = "cannot be dropped"},
    {.name = "twice", .inputs = {ONS_F32(1, 4), ONS_I64(0, -2)}, .error = "twice"},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(squeeze, "Squeeze", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(1, 2, 1, 1), ONS_NO_ATTRIBUTES,
                    ONS_INFER(squeeze_infer), ONS_COST(ons_cost_free),
                    ONS_GRADIENT_RULE(ons_view_gradient, ONS_INPUT_BIT(0)), ONS_SAVES_NOTHING,
                    ONS_ANY_PRECISION_OPERATOR, ONS_VIEW_ALIASES, ONS_PLAIN_LAYOUT,
                    ONS_FORMS(ons_upgrade_axes_to_input_1, ONS_NO_PATTERNS, NULL), ONS_REFERENCE(ons_view_reference),
                    ONS_VIEW_KERNEL, ONS_NO_CUDA_KERNEL("a view: nothing runs"), squeeze_cases);
