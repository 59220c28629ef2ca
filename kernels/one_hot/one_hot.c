/* OneHot: the "on" value where an index points along a new axis, the "off" value elsewhere (also for an index outside).
 */
#include "kernels/one_hot/one_hot_node.h"

#include "graph/evaluate.h"
#include "kernels/common/layout/index.h"
#include "kernels/common/operator/rules.h"
#include "kernels/operators.h"

static ons_status *one_hot_infer(ons_operands *o) {
    const ons_shape *indices = &o->inputs[INDICES].shape;
    const ons_tensor *given = &o->constants[DEPTH];
    uint32_t axis;
    if (given->data == NULL || ons_elements(&given->type) != 1)
        return ons_node_error(o, "the depth decides the shape and must be one known number");
    uint64_t word = 0;
    ons_widen(given->type.dtype, given->data, 1, &word);
    double real;
    memcpy(&real, &word, sizeof real);
    int64_t depth = (int64_t)word;
    if (ons_dtype_is_float(given->type.dtype)) depth = real >= 1 && real < 0x1p40 ? (int64_t)real : 0;
    if (depth < 1 || indices->rank + 1 > ONS_RANK_MAX || ons_elements(&o->inputs[VALUES]) != 2)
        return ons_node_error(o, "needs a depth of at least 1 and two values");
    ONS_TRY(ons_node_axis(o, ons_attribute_int(o, AXIS), indices->rank + 1, &axis));
    ons_shape shape = {.rank = indices->rank + 1};
    for (uint32_t i = 0; i < shape.rank; ++i)
        shape.dims[i] = i < axis ? indices->dims[i] : i == axis ? depth : indices->dims[i - 1];
    o->outputs[0] = ons_type_make(o->inputs[VALUES].dtype, shape);
    return NULL;
}

static void one_hot_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                              void *const *outputs) {
    ons_one_hot s = make_state(o);
    for (int64_t i = 0; i < s.elements; ++i) {
        int64_t at = i / (s.depth * s.inner) * s.inner + i % s.inner, position = i / s.inner % s.depth;
        int64_t index = ons_dtype_is_float(s.index_dtype) ? whole(((const double *)inputs[INDICES])[at])
                                                          : ((const int64_t *)inputs[INDICES])[at];
        index += index < 0 ? s.depth : 0;
        ons_copy_word(outputs[0], i, inputs[VALUES], index == position);
    }
}

/* The "on" value gathers the cotangents of the places that are on, the "off" value those of all others. */
static ons_status *one_hot_gradient(ons_gradient *g) {
    static const int64_t first = 0;
    ons_value_id none = ons_make_scalar(g, 0), one = ons_make_scalar(g, 1), dy = g->cotangents[0];
    ons_value_id zero_axis = ons_build_integers(g->builder, &first, 1);
    none = ons_make2(g, &ons_op_unsqueeze, none, zero_axis);
    one = ons_make2(g, &ons_op_unsqueeze, one, zero_axis);
    ons_value_id off_on = ons_build(g->builder, &ons_op_concat, ONS_IN(none, one), ONS_WITH(ONS_AT_INT(0, 0)));
    ons_value_id on =
        ons_make_like(g, &ons_op_one_hot, ONS_IN(ons_gradient_input(g, INDICES), ons_gradient_input(g, DEPTH), off_on));
    ons_value_id of_on = ons_build(g->builder, &ons_op_reduce_sum, ONS_IN(ons_make2(g, &ons_op_mul, dy, on)),
                                   ONS_WITH(ONS_AT_INT(0, 0)));
    ons_value_id of_all = ons_build(g->builder, &ons_op_reduce_sum, ONS_IN(dy), ONS_WITH(ONS_AT_INT(0, 0)));
    ons_value_id of_off = ons_make2(g, &ons_op_sub, of_all, of_on);
    g->gradients[VALUES] = ons_build(
        g->builder, &ons_op_concat,
        ONS_IN(ons_make2(g, &ons_op_unsqueeze, of_off, zero_axis), ons_make2(g, &ons_op_unsqueeze, of_on, zero_axis)),
        ONS_WITH(ONS_AT_INT(0, 0)));
    return NULL;
}

ONS_DEFINE_OPERATOR(one_hot, "OneHot", ONS_ONNX(9, ONS_NEWEST), ONS_ARITY(3, 3, 1, 1),
                    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("axis", -1)), ONS_INFER(one_hot_infer), ONS_COST(ons_cost_copy),
                    ONS_GRADIENT_RULE(one_hot_gradient, ONS_INPUT_BIT(VALUES)),
                    ONS_SAVES(ONS_INPUT_BIT(INDICES), 0), /* Indices of a half type would be other indices. */
                    ONS_ROLES_WITH_FULL(ONS_NO_ROLE, ONS_TRAIT_ANY_PRECISION, 0,
                                        ONS_INPUT_BIT(INDICES) | ONS_INPUT_BIT(DEPTH)),
                    ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(one_hot_reference));
