/* Expand: the input broadcast with the shape of input 1. */
#include "kernels/common/strided.h"

static ons_status *expand_infer(ons_operands *o) {
    int64_t dims[ONS_INTEGERS_MAX];
    uint32_t rank;
    ONS_TRY(ons_constant_integers(o, 1, dims, &rank));
    if (rank > ONS_RANK_MAX)
        return ons_node_error(o, "the shape has rank %u, at most %d is possible", rank, ONS_RANK_MAX);
    ons_shape wanted = ons_shape_make(rank, dims);
    ONS_TRY_AT(ons_shape_check(&wanted), "node '%s' (Expand)", o->name);
    o->outputs[0].dtype = o->inputs[0].dtype;
    char left[ONS_TYPE_TEXT], right[ONS_TYPE_TEXT];
    ons_type target = ons_type_make(o->inputs[0].dtype, wanted);
    if (!ons_shape_broadcast(&o->inputs[0].shape, &wanted, &o->outputs[0].shape))
        return ons_node_error(o, "%s does not broadcast to %s", ons_type_print(&o->inputs[0], left),
                              ons_type_print(&target, right));
    return NULL;
}

/* How far apart the input's elements lie along the output's axes. */
static void find_strides(const ons_operands *o, int64_t strides[static ONS_RANK_MAX]) {
    const ons_shape *from = &o->inputs[0].shape, *to = &o->outputs[0].shape;
    int64_t dense[ONS_RANK_MAX];
    ons_dense_strides(from, dense);
    for (uint32_t i = 0; i < to->rank; ++i) {
        uint32_t lead = to->rank - from->rank;
        strides[i] = i < lead || from->dims[i - lead] == 1 ? 0 : dense[i - lead];
    }
}

static void expand_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                             void *const *outputs) {
    int64_t index[ONS_RANK_MAX], strides[ONS_RANK_MAX];
    find_strides(o, strides);
    for (int64_t i = 0, n = ons_elements(&o->outputs[0]); i < n; ++i) {
        int64_t source = 0;
        ons_unravel(&o->outputs[0].shape, i, index);
        for (uint32_t axis = 0; axis < o->outputs[0].shape.rank; ++axis) source += index[axis] * strides[axis];
        ons_copy_word(outputs[0], i, inputs[0], source);
    }
}

static ons_status *expand_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ons_strided copy = ons_strided_dense(o->outputs[0].dtype, &o->outputs[0].shape);
    find_strides(o, copy.from);
    return ons_strided_prepare(p, &copy);
}

/* The driver sums it down to the input's shape. */
static ons_status *expand_gradient(ons_gradient *g) {
    g->gradients[0] = g->cotangents[0];
    return NULL;
}

static const ons_case expand_cases[] = {
    {.name = "rows", .inputs = {ONS_F32(1, 5), ONS_I64(4, 5)}},
    {.name = "columns", .inputs = {ONS_F32(4, 1), ONS_I64(4, 9)}},
    {.name = "both_ways", .inputs = {ONS_F32(3, 1, 4), ONS_I64(2, 1)}},
    {.name = "new_axes", .inputs = {ONS_F32(3), ONS_I64(2, 4, 3)}},
    {.name = "rank0", .inputs = {ONS_F32(), ONS_I64(2, 3)}},
    {.name = "empty", .inputs = {ONS_F32(1, 3), ONS_I64(0, 3)}},
    {.name = "threads", .inputs = {ONS_F32(1, 40, 1), ONS_I64(9, 40, 77)}},
    {.name = "integers", .inputs = {ONS_RANDOM(ONS_INT64, -5, 5, 1), ONS_I64(6)}},
    {.name = "misfit", .inputs = {ONS_F32(3), ONS_I64(4)}, .error = "does not broadcast"},
    {.name = "large", .inputs = {ONS_F32(4096, 1), ONS_I64(4096, 1024)}, .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(expand, "Expand", ONS_ONNX(8, ONS_NEWEST), ONS_ARITY(2, 2, 1, 1), ONS_NO_ATTRIBUTES,
                    ONS_INFER(expand_infer), ONS_COST(ons_cost_copy),
                    ONS_GRADIENT_RULE(expand_gradient, ONS_INPUT_BIT(0)), ONS_SAVES_NOTHING, ONS_MOVING_OPERATOR,
                    ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(expand_reference),
                    ONS_CPU_KERNEL(expand_prepare, ons_strided_run), ONS_CUDA_KERNEL(expand_prepare, ons_cuda_expand),
                    expand_cases);
