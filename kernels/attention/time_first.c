/* Attention whose sequences come samples first and are computed time first: a Transpose stands in front of the layer
 * that makes queries, keys and values, and another behind the layer that reads the result. Both layers work row by row,
 * and attention reads and writes either order, so neither Transpose need be carried out. */
#include "kernels/attention/time_first.h"

#include <string.h>

#include "kernels/attention/attention_operands.h"
#include "kernels/common/layout/axes.h"
#include "kernels/operators.h"
#include "kernels/transpose/transpose.h"

/* [positions, batch, …] from or to [batch, positions, …], of three axes. */
static bool swaps_time(const ons_operands *transpose) {
    uint32_t perm[ONS_RANK_MAX];
    if (transpose == NULL || transpose->inputs[0].shape.rank != 3) return false;
    ons_resolved(ons_transpose_find_permutation(transpose, perm));
    return perm[0] == 1 && perm[1] == 0 && perm[2] == 2;
}

/* Whether the layer reads a row of `size` numbers for each of [outer][inner], and makes each row of its result of that
 * one. */
static bool is_over_rows(const ons_operands *o, int64_t outer, int64_t inner, int64_t size) {
    if (o == NULL || o->inputs[1].shape.rank != 2) return false;
    const ons_shape *x = &o->inputs[0].shape, apart = {3, {outer, inner, size}}, joined = {2, {outer * inner, size}};
    if (!ons_shape_equal(x, &apart) && !ons_shape_equal(x, &joined)) return false;
    if (o->op == &ons_op_matmul_transposed) return ons_attribute_int(o, 0) == 0 && ons_attribute_int(o, 2) == 0;
    if (o->op != &ons_op_gemm) return true;
    const ons_shape *added = &o->inputs[2].shape;
    return ons_attribute_int(o, 2) == 0 && (added->rank < 2 || added->dims[0] == 1);
}

static const ons_node *node_of(const ons_match *match, const ons_builder *builder, const char *name) {
    return ons_graph_node(builder->graph, ons_graph_value(builder->graph, ons_match_value(match, name))->producer);
}

/* The layer `name` of a match over the rows of `value`, which has three axes, as its result. */
static ons_value_id layer_over(ons_match *match, const char *name, ons_value_id value) {
    ons_builder *builder = ons_match_builder(match);
    const ons_operands *o = ons_match_node(match, name);
    const ons_node *node = node_of(match, builder, name);
    ons_value_id inputs[3], made;
    ons_shape axes = ons_builder_type(builder, value).shape;
    uint32_t count = node->input_count;
    if (o == NULL || count > 3) return ONS_NONE;
    memcpy(inputs, node->inputs, count * sizeof *inputs);
    ons_shape rows = o->inputs[0].shape.rank == 3 ? axes : o->inputs[0].shape;
    inputs[0] = ons_build_with_shape(builder, value, &rows);
    ons_build_node_like(builder, o->op, (ons_inputs){inputs, count}, o->attributes, 1, NULL, &made);
    ons_shape result = {3, {axes.dims[0], axes.dims[1], o->outputs[0].shape.dims[o->outputs[0].shape.rank - 1]}};
    return made == ONS_NONE ? ONS_NONE : ons_build_with_shape(builder, made, &result);
}

/* Attention of the match, with other attributes and perhaps another packed operand; its node is named `name`. */
static ons_value_id attention_like(ons_match *match, const char *name, const ons_attribute *attributes,
                                   ons_value_id packed) {
    ons_builder *builder = ons_match_builder(match);
    const ons_node *node = node_of(match, builder, name);
    ons_value_id inputs[5], made;
    uint32_t count = node->input_count < 5 ? node->input_count : 5;
    memcpy(inputs, node->inputs, count * sizeof *inputs);
    for (int i = 0; packed != ONS_NONE && i < 3; ++i) inputs[i] = packed;
    ons_build_node_like(builder, &ons_op_attention, (ons_inputs){inputs, count}, attributes, 1, NULL, &made);
    return made;
}

ons_value_id ons_attention_untranspose_operand(ons_match *match) {
    ons_builder *builder = ons_match_builder(match);
    const ons_operands *o = ons_match_node(match, "result"), *v = ons_match_node(match, "v");
    if (o == NULL || v == NULL || ons_attribute_int(o, ONS_ATTENTION_PACKED) == 0 ||
        ons_attribute_int(o, ONS_ATTENTION_QUERY_ORDER) != ONS_POSITIONS_OUTER ||
        !swaps_time(ons_match_node(match, "t")))
        return ONS_NONE;
    ons_attribute attributes[ONS_ATTENTION_ATTRIBUTE_COUNT];
    const int64_t *dims = v->outputs[0].shape.dims;
    ons_shape shape = {4, {dims[1], dims[0], dims[2], dims[3]}}, x = ons_match_type(match, "x").shape;
    if (x.dims[0] != dims[1] || x.dims[1] != dims[0] ||
        !is_over_rows(ons_match_node(match, "p"), dims[0], dims[1], x.dims[2]))
        return ONS_NONE;
    memcpy(attributes, o->attributes, sizeof attributes);
    for (int i = 0; i < 3; ++i) attributes[ONS_ATTENTION_QUERY_ORDER + i].i = ONS_POSITIONS_FIRST;
    ons_value_id rows = layer_over(match, "p", ons_match_value(match, "x"));
    if (rows == ONS_NONE) return ONS_NONE;
    return attention_like(match, "result", attributes, ons_build_reshape(builder, rows, &shape));
}

ons_value_id ons_attention_untranspose_result(ons_match *match) {
    ons_builder *builder = ons_match_builder(match);
    const ons_operands *o = ons_match_node(match, "a"), *transpose = ons_match_node(match, "result");
    if (o == NULL || ons_attribute_int(o, ONS_ATTENTION_RESULT_ORDER) != ONS_POSITIONS_OUTER || !swaps_time(transpose))
        return ONS_NONE;
    const int64_t *dims = o->outputs[0].shape.dims, *outer = transpose->inputs[0].shape.dims;
    if (outer[0] != dims[0] || outer[1] != dims[1] ||
        !is_over_rows(ons_match_node(match, "p"), dims[0], dims[1], dims[2] * dims[3]))
        return ONS_NONE;
    ons_attribute attributes[ONS_ATTENTION_ATTRIBUTE_COUNT];
    memcpy(attributes, o->attributes, sizeof attributes);
    attributes[ONS_ATTENTION_RESULT_ORDER].i = ONS_POSITIONS_FIRST;
    ons_value_id made = attention_like(match, "a", attributes, ONS_NONE);
    ons_shape joined = {3, {dims[1], dims[0], dims[2] * dims[3]}};
    return made == ONS_NONE ? ONS_NONE : layer_over(match, "p", ons_build_reshape(builder, made, &joined));
}
