/* Tile: the input repeated along each axis. */
#include "kernels/common/layout/axes.h"
#include "kernels/operators.h"

static ons_status *tile_infer(ons_operands *o) {
    int64_t repeats[ONS_INTEGERS_MAX];
    uint32_t count;
    ONS_TRY(ons_constant_integers(o, 1, repeats, &count));
    o->outputs[0] = o->inputs[0];
    ons_shape *shape = &o->outputs[0].shape;
    if (count != shape->rank) return ons_node_error(o, "%u repeats for a tensor of rank %u", count, shape->rank);
    for (uint32_t i = 0; i < count; ++i)
        if (repeats[i] < 0 || __builtin_mul_overflow(shape->dims[i], repeats[i], &shape->dims[i]))
            return ons_node_error(o, "%lld repeats along axis %u", (long long)repeats[i], i);
    return NULL;
}

static void tile_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                           void *const *outputs) {
    int64_t index[ONS_RANK_MAX];
    for (int64_t i = 0, n = ons_elements(&o->outputs[0]); i < n; ++i) {
        ons_unravel(&o->outputs[0].shape, i, index);
        for (uint32_t axis = 0; axis < o->inputs[0].shape.rank; ++axis) index[axis] %= o->inputs[0].shape.dims[axis];
        ons_copy_word(outputs[0], i, inputs[0], ons_ravel(&o->inputs[0].shape, index));
    }
}

/* Sums over the repeats of one axis after the other: (before, repeats, index and after). */
static ons_value_id sum_axis_by_axis(ons_gradient *g) {
    const ons_shape *from = &g->operands->inputs[0].shape;
    ons_shape shape = g->operands->outputs[0].shape;
    ons_value_id gradient = g->cotangents[0];
    int64_t middle = 1;
    for (uint32_t i = 0; i < from->rank; ++i) {
        if (from->dims[i] == shape.dims[i]) continue;
        int64_t repeats = from->dims[i] == 0 ? 0 : shape.dims[i] / from->dims[i];
        int64_t rest = from->dims[i] * ons_shape_span(&shape, i + 1, shape.rank);
        ons_shape split = {3, {ons_shape_span(&shape, 0, i), repeats, rest}};
        gradient = ons_build(
            g->builder, &ons_op_reduce_sum,
            ONS_IN(ons_build_reshape(g->builder, gradient, &split), ons_build_integers(g->builder, &middle, 1)),
            ONS_WITH(ONS_AT_INT(0, 0)));
        shape.dims[i] = from->dims[i];
    }
    return ons_build_reshape(g->builder, gradient, from);
}

/* Sums over the repeats, each an axis of its own where there are enough axes. */
static ons_status *tile_gradient(ons_gradient *g) {
    const ons_shape *from = &g->operands->inputs[0].shape, *to = &g->operands->outputs[0].shape;
    ons_shape pairs = {0};
    int64_t axes[ONS_RANK_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; i < from->rank; ++i) {
        bool repeats = from->dims[i] != to->dims[i];
        if (pairs.rank + 1 + repeats > ONS_RANK_MAX) {
            g->gradients[0] = sum_axis_by_axis(g);
            return NULL;
        }
        if (repeats) {
            axes[count++] = pairs.rank;
            pairs.dims[pairs.rank++] = from->dims[i] == 0 ? 0 : to->dims[i] / from->dims[i];
        }
        pairs.dims[pairs.rank++] = from->dims[i];
    }
    ons_value_id gradient = g->cotangents[0];
    if (count > 0)
        gradient = ons_build(
            g->builder, &ons_op_reduce_sum,
            ONS_IN(ons_build_reshape(g->builder, gradient, &pairs), ons_build_integers(g->builder, axes, count)),
            ONS_WITH(ONS_AT_INT(0, 0)));
    g->gradients[0] = gradient;
    return NULL;
}

ONS_DEFINE_OPERATOR(tile, "Tile", ONS_ONNX(6, ONS_NEWEST), ONS_ARITY(2, 2, 1, 1), ONS_NO_ATTRIBUTES,
                    ONS_INFER(tile_infer), ONS_COST(ons_cost_copy), ONS_GRADIENT_RULE(tile_gradient, ONS_INPUT_BIT(0)),
                    ONS_SAVES_NOTHING, ONS_MOVING_OPERATOR, ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(tile_reference));
