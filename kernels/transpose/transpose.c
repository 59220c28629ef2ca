/* Transpose: axis i of the result is axis perm[i] of the input; without perm, all axes in reverse order. */
#include "kernels/transpose/transpose.h"

#include "kernels/common/layout/channels.h"
#include "kernels/common/layout/index.h"
#include "kernels/common/operator/kernel.h"
#include "kernels/operators.h"

enum { PERM };

ons_status *ons_transpose_find_permutation(const ons_operands *o, uint32_t perm[static ONS_RANK_MAX]) {
    uint32_t rank = o->inputs[0].shape.rank;
    const ons_attribute *given = &o->attributes[PERM];
    bool used[ONS_RANK_MAX] = {false};
    if (given->kind != ONS_ATTRIBUTE_ABSENT && given->count != rank)
        return ons_node_error(o, "perm has %u entries for a tensor of rank %u", given->count, rank);
    for (uint32_t i = 0; i < rank; ++i) {
        int64_t axis = given->kind == ONS_ATTRIBUTE_ABSENT ? rank - 1 - i : given->ints[i];
        if (!ons_axis_resolve(axis, rank, &perm[i]) || used[perm[i]])
            return ons_node_error(o, "perm is not a permutation of %u axes", rank);
        used[perm[i]] = true;
    }
    return NULL;
}

static ons_status *transpose_infer(ons_operands *o) {
    uint32_t perm[ONS_RANK_MAX];
    ONS_TRY(ons_transpose_find_permutation(o, perm));
    o->outputs[0] = o->inputs[0];
    for (uint32_t i = 0; i < o->inputs[0].shape.rank; ++i)
        o->outputs[0].shape.dims[i] = o->inputs[0].shape.dims[perm[i]];
    return NULL;
}

static void transpose_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                void *const *outputs) {
    uint32_t perm[ONS_RANK_MAX];
    ons_resolved(ons_transpose_find_permutation(o, perm));
    int64_t index[ONS_RANK_MAX], source[ONS_RANK_MAX];
    for (int64_t i = 0, n = ons_elements(&o->outputs[0]); i < n; ++i) {
        ons_unravel(&o->outputs[0].shape, i, index);
        for (uint32_t axis = 0; axis < o->outputs[0].shape.rank; ++axis) source[perm[axis]] = index[axis];
        ons_copy_word(outputs[0], i, inputs[0], ons_ravel(&o->inputs[0].shape, source));
    }
}

static ons_status *transpose_gradient(ons_gradient *g) {
    uint32_t perm[ONS_RANK_MAX], rank = g->operands->inputs[0].shape.rank;
    int64_t inverse[ONS_RANK_MAX] = {0};
    ons_resolved(ons_transpose_find_permutation(g->operands, perm));
    for (uint32_t i = 0; i < rank; ++i) inverse[perm[i]] = i;
    g->gradients[0] =
        ons_build(g->builder, &ons_op_transpose, ONS_IN(g->cotangents[0]), ONS_WITH(ONS_AT_INTS(PERM, rank, inverse)));
    return NULL;
}

/* What has its channels last in memory has them last in ONNX's order, too, where they are the result's last axis. */
static ons_status *transpose_choose(const ons_operands *o, ons_layout *inputs, ons_layout *outputs) {
    uint32_t perm[ONS_RANK_MAX], rank = o->inputs[0].shape.rank;
    bool same = o->inputs[0].layout == ONS_LAYOUT_CHANNELS_LAST;
    ONS_TRY(ons_transpose_find_permutation(o, perm));
    for (uint32_t place = 0; place < rank; ++place)
        same = same && perm[place] == ons_channels_axis(ONS_LAYOUT_CHANNELS_LAST, rank, place);
    inputs[0] = same ? ONS_LAYOUT_CHANNELS_LAST : ONS_LAYOUT_ONNX;
    outputs[0] = ONS_LAYOUT_ONNX;
    return NULL;
}

ONS_DEFINE_OPERATOR(transpose, "Transpose", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(1, 1, 1, 1),
                    ONS_ATTRIBUTES(ONS_OPTIONAL_ATTRIBUTE("perm", ONS_ATTRIBUTE_INTS)), ONS_INFER(transpose_infer),
                    ONS_COST(ons_cost_copy), ONS_GRADIENT_RULE(transpose_gradient, ONS_ALL_INPUTS), ONS_SAVES_NOTHING,
                    ONS_ROLES(ONS_ROLE_TRANSPOSE, ONS_TRAIT_MOVES, 0), ONS_NO_ALIASES,
                    ONS_CHOOSES_LAYOUT(transpose_choose), ONS_ONE_FORM, ONS_REFERENCE(transpose_reference));
