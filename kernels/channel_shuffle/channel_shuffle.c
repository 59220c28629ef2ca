/* ChannelShuffle: the channels (axis 1) in groups of equal size; the first of every group, then the second of every
 * group, and so on. Networks write it as Reshape, Transpose and Reshape, between convolutions whose layout those three
 * would not keep. */
#include "kernels/channel_shuffle/channel_shuffle.h"

#include "graph/passes/fuse.h"
#include "kernels/common/layout/channels.h"
#include "kernels/common/layout/index.h"
#include "kernels/operators.h"
#include "kernels/transpose/transpose.h"

static ons_status *channel_shuffle_infer(ons_operands *o) {
    const ons_shape *shape = &o->inputs[0].shape;
    int64_t groups = ons_attribute_int(o, GROUPS);
    if (shape->rank < 2 || groups < 1 || shape->dims[1] % groups != 0)
        return ons_node_error(o, "needs channels that divide into the groups");
    o->outputs[0] = o->inputs[0];
    return NULL;
}

static void channel_shuffle_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                      void *const *outputs) {
    const ons_shape *shape = &o->inputs[0].shape;
    int64_t groups = ons_attribute_int(o, GROUPS), size = shape->dims[1] / groups, at[ONS_RANK_MAX];
    for (int64_t i = 0, n = ons_shape_elements(shape); i < n; ++i) {
        ons_unravel(shape, i, at);
        at[1] = at[1] % groups * size + at[1] / groups;
        ons_copy_word(outputs[0], i, inputs[0], ons_ravel(shape, at));
    }
}

/* As many groups as a group had channels bring all channels back. */
static ons_status *channel_shuffle_gradient(ons_gradient *g) {
    int64_t groups = ons_attribute_int(g->operands, GROUPS), channels = g->operands->inputs[0].shape.dims[1];
    g->gradients[0] = ons_build(g->builder, &ons_op_channel_shuffle, ONS_IN(g->cotangents[0]),
                                ONS_WITH(ONS_AT_INT(GROUPS, channels == 0 ? 1 : channels / groups)));
    return NULL;
}

/* Whether `split` is `whole` with its channels as (groups, size), and nothing else changed. */
static bool splits_channels(const ons_shape *whole, const ons_shape *split) {
    if (whole->rank < 2 || split->rank != whole->rank + 1 || split->dims[0] != whole->dims[0] ||
        split->dims[1] * split->dims[2] != whole->dims[1])
        return false;
    for (uint32_t axis = 2; axis < whole->rank; ++axis)
        if (split->dims[axis + 1] != whole->dims[axis]) return false;
    return true;
}

static bool swaps_groups(const ons_operands *transpose) {
    uint32_t perm[ONS_RANK_MAX];
    if (transpose == NULL || transpose->inputs[0].shape.rank < 3) return false;
    ons_resolved(ons_transpose_find_permutation(transpose, perm));
    for (uint32_t axis = 0; axis < transpose->inputs[0].shape.rank; ++axis)
        if (perm[axis] != (axis == 1 ? 2 : axis == 2 ? 1 : axis)) return false;
    return true;
}

static ons_value_id replace(ons_match *match) {
    ons_type x = ons_match_type(match, "x"), result = ons_match_type(match, "result");
    const ons_operands *transpose = ons_match_node(match, "t");
    if (!swaps_groups(transpose) || transpose->inputs[0].shape.dims[1] < 2 || transpose->inputs[0].shape.dims[2] < 2)
        return ONS_NONE; /* heads of attention, say, of which there is one */
    if (!splits_channels(&x.shape, &transpose->inputs[0].shape) || !ons_shape_equal(&x.shape, &result.shape))
        return ONS_NONE;
    return ons_build(ons_match_builder(match), &ons_op_channel_shuffle, ONS_IN(ons_match_value(match, "x")),
                     ONS_WITH(ONS_AT_INT(GROUPS, transpose->inputs[0].shape.dims[1])));
}

static const ons_pattern channel_shuffle_patterns[] = {
    {"Reshape(t=Transpose(Reshape(x)))", replace},
    {.form = NULL},
};

ONS_DEFINE_OPERATOR(channel_shuffle, "ChannelShuffle", ONS_INTERNAL, ONS_ARITY(1, 1, 1, 1),
                    ONS_ATTRIBUTES(ONS_REQUIRED_ATTRIBUTE("groups", ONS_ATTRIBUTE_INT)),
                    ONS_INFER(channel_shuffle_infer), ONS_COST(ons_cost_copy),
                    ONS_GRADIENT_RULE(channel_shuffle_gradient, ONS_ALL_INPUTS), ONS_SAVES_NOTHING, ONS_MOVING_OPERATOR,
                    ONS_NO_ALIASES, ONS_CHOOSES_LAYOUT(ons_channels_keep_first),
                    ONS_FORMS(NULL, channel_shuffle_patterns, NULL), ONS_REFERENCE(channel_shuffle_reference));
