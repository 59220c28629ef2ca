#include "kernels/attention/absorb.h"

#include <string.h>

#include "graph/passes/fuse.h"
#include "kernels/attention/attention_operands.h"
#include "kernels/common/layout/axes.h"
#include "kernels/common/layout/upwards.h"
#include "kernels/common/layout/views.h"
#include "kernels/operators.h"

/* A node of attention and what it becomes. */
typedef struct arrangement {
    const ons_graph *graph;
    ons_node node;         /* with arrays of its own graph, which building moves not */
    int64_t dims[3][4];    /* batch, heads, positions, size of each operand; the batch may be taken out of the heads */
    ons_value_id bases[3]; /* what the node is to read, in `orders` */
    ons_attention_order orders[3];
    double scale; /* of queries and keys on the way from there */
    bool packed;
} arrangement;

static ons_attention_order order_of(const arrangement *a, int operand) {
    return (ons_attention_order)a->node.attributes[ONS_ATTENTION_QUERY_ORDER + operand].i;
}

/* A value in some order as [batch, heads, positions, size]. */
static void put_heads_first(ons_view *view, ons_attention_order order) {
    uint32_t perm[ONS_RANK_MAX] = {0};
    for (int i = 0; i < 4; ++i) perm[i] = ons_attention_axes[order][i];
    ons_view_transpose(view, perm);
}

static bool operand_within(const arrangement *a, ons_value_id base, int operand, double *scale, ons_view *view) {
    *scale = 1;
    if (!ons_view_within(a->graph, base, a->node.inputs[operand], operand < 2 ? scale : NULL, view)) return false;
    put_heads_first(view, order_of(a, operand));
    ons_shape shape = ons_attention_shape_of(a->dims[operand], ONS_HEADS_FIRST);
    return ons_view_reshape(view, &shape);
}

static bool lies_at(const ons_view *view, const ons_attention_steps *steps) {
    const int64_t wanted[4] = {steps->batch, steps->head, steps->position, steps->size};
    ons_view_part parts[ONS_VIEW_PARTS];
    bool fits = view->start == steps->start;
    for (uint32_t axis = 0; fits && axis < 4; ++axis) {
        uint32_t count = ons_view_parts(view, axis, axis + 1, parts);
        fits = count == 0 || (count == 1 && parts[0].step == wanted[axis]);
    }
    return fits;
}

static int64_t elements(const arrangement *a, ons_value_id value) {
    return ons_shape_elements(&ons_graph_value(a->graph, value)->type.shape);
}

static ons_value_id next_base(const arrangement *a, ons_value_id base, int operand) {
    double scale = 1;
    return ons_view_source(a->graph, base, operand < 2 ? &scale : NULL);
}

/* Where all heads of all samples became one axis of a batch of one, and lie in two distances in what it was made of,
 * the outer of these is the batch. */
static void find_batch(arrangement *a) {
    ons_view view;
    ons_view_part parts[ONS_VIEW_PARTS];
    int64_t batch = 1, heads = a->dims[0][1];
    double scale;
    if (a->dims[0][0] != 1) return;
    for (int i = 0; batch == 1 && i < 3; ++i)
        for (ons_value_id base = a->node.inputs[i]; base != ONS_NONE; base = next_base(a, base, i))
            if (operand_within(a, base, i, &scale, &view) && ons_view_parts(&view, 0, 2, parts) == 2)
                batch = parts[0].count, heads = parts[1].count;
    for (int i = 0; i < 3; ++i) a->dims[i][0] = batch, a->dims[i][1] = heads;
}

/* The value furthest up that has the operand and nothing else, in an order that the node can read. */
static void find_alone(arrangement *a, int operand) {
    ons_view view;
    double scale, found = 1;
    const int64_t *d = a->dims[operand];
    for (ons_value_id base = a->node.inputs[operand]; base != ONS_NONE; base = next_base(a, base, operand)) {
        bool fits = elements(a, base) == d[0] * d[1] * d[2] * d[3] && operand_within(a, base, operand, &scale, &view);
        for (int order = ONS_ATTENTION_ORDERS; fits && order-- > 0;) {
            ons_attention_steps steps = ons_attention_steps_of(d, (ons_attention_order)order);
            if ((order == ONS_SIZE_FIRST && operand != 1) || !lies_at(&view, &steps)) continue;
            a->bases[operand] = base;
            a->orders[operand] = (ons_attention_order)order;
            found = scale;
        }
    }
    a->scale *= found;
}

/* Whether all three lie packed in one value. */
static bool are_packed(const arrangement *a, ons_value_id base, ons_attention_order order, double *scale) {
    ons_attention_steps steps[3];
    ons_attention_packed_steps(a->dims[0], order, steps);
    *scale = 1;
    for (int i = 0; i < 3; ++i) {
        ons_view view;
        double of_operand;
        if (!operand_within(a, base, i, &of_operand, &view) || !lies_at(&view, &steps[i])) return false;
        *scale *= of_operand;
    }
    return true;
}

static void find_packed(arrangement *a) {
    static const ons_attention_order orders[2] = {ONS_POSITIONS_FIRST, ONS_POSITIONS_OUTER};
    const int64_t *d = a->dims[0];
    if (memcmp(d, a->dims[1], sizeof a->dims[1]) != 0) return;
    for (ons_value_id base = a->node.inputs[0]; base != ONS_NONE && !a->packed; base = next_base(a, base, 0)) {
        if (elements(a, base) != 3 * d[0] * d[1] * d[2] * d[3]) continue;
        for (int i = 0; i < 2 && !a->packed; ++i) {
            a->packed = are_packed(a, base, orders[i], &a->scale);
            for (int k = 0; k < 3; ++k) a->bases[k] = base, a->orders[k] = orders[i];
        }
    }
}

/* Whether a value is the other under no more than another shape. */
static bool is_itself(const ons_graph *graph, ons_value_id value, ons_value_id base) {
    const ons_node *reshape = ons_made_by(graph, value, "Reshape");
    return value == base || (reshape != NULL && reshape->inputs[0] == base);
}

/* Reads the node's operands; false where it has nothing to take in. */
static bool arrange(const ons_graph *graph, const ons_node *node, arrangement *a) {
    *a = (arrangement){.graph = graph, .node = *node, .scale = 1};
    if (node->op != &ons_op_attention || node->attributes[ONS_ATTENTION_PACKED].i != 0) return false;
    for (int i = 0; i < 3; ++i) {
        const ons_shape *shape = &ons_graph_value(graph, node->inputs[i])->type.shape;
        for (int k = 0; k < 4; ++k) a->dims[i][k] = shape->dims[ons_attention_axes[order_of(a, i)][k]];
        if (elements(a, node->inputs[i]) == 0) return false;
    }
    int64_t batch = a->dims[0][0];
    find_batch(a);
    find_packed(a);
    if (a->packed) return true;
    a->scale = 1;
    for (int i = 0; i < 3; ++i) find_alone(a, i);
    bool changes = batch != a->dims[0][0] || a->scale != 1;
    for (int i = 0; i < 3; ++i)
        changes |= a->orders[i] != order_of(a, i) || !is_itself(graph, node->inputs[i], a->bases[i]);
    return changes;
}

/* A mask, or what is kept, of heads that are now those of a batch. */
static ons_value_id with_batch(ons_builder *builder, ons_value_id value, const int64_t dims[4]) {
    ons_shape shape = ons_builder_type(builder, value).shape;
    if (value == ONS_NONE || shape.rank < 3 || shape.dims[shape.rank - 3] != dims[0] * dims[1]) return value;
    shape = ons_shape_make(4, (int64_t[]){dims[0], dims[1], shape.dims[shape.rank - 2], shape.dims[shape.rank - 1]});
    return ons_build_with_shape(builder, value, &shape);
}

ons_value_id ons_attention_absorb_operands(ons_match *match) {
    ons_builder *builder = ons_match_builder(match);
    ons_value_id result = ons_match_value(match, "result"), inputs[5], output;
    arrangement a;
    if (!arrange(builder->graph, ons_graph_node(builder->graph, ons_graph_value(builder->graph, result)->producer), &a))
        return ONS_NONE;
    ons_attribute attributes[ONS_ATTENTION_ATTRIBUTE_COUNT];
    uint32_t count = a.node.input_count < 5 ? a.node.input_count : 5;
    memcpy(attributes, a.node.attributes, sizeof attributes);
    memcpy(inputs, a.node.inputs, count * sizeof inputs[0]);
    attributes[ONS_ATTENTION_SCALE].f *= a.scale;
    attributes[ONS_ATTENTION_PACKED].i = a.packed;
    for (int i = 0; i < 3; ++i) {
        attributes[ONS_ATTENTION_QUERY_ORDER + i].i = a.orders[i];
        int64_t dims[4] = {a.dims[i][0], (a.packed ? 3 : 1) * a.dims[i][1], a.dims[i][2], a.dims[i][3]};
        ons_shape shape = ons_attention_shape_of(dims, a.orders[i]);
        inputs[i] = a.packed && i > 0
                        ? inputs[0]
                        : ons_build_with_shape(builder, ons_view_unshaped(builder->graph, a.bases[i]), &shape);
    }
    for (uint32_t i = 3; i < count; ++i) inputs[i] = with_batch(builder, inputs[i], a.dims[0]);
    ons_type type = ons_match_type(match, "result");
    /* [1, positions, all heads, size] is [positions, batch, heads, size]. */
    ons_attribute *order = &attributes[ONS_ATTENTION_RESULT_ORDER];
    if (order->i == ONS_POSITIONS_FIRST && type.shape.dims[0] != a.dims[0][0]) order->i = ONS_POSITIONS_OUTER;
    ons_build_node_like(builder, &ons_op_attention, (ons_inputs){inputs, count}, attributes, 1, NULL, &output);
    return ons_build_with_shape(builder, output, &type.shape);
}

ons_value_id ons_attention_absorb_result(ons_match *match) {
    static const ons_attention_order orders[2] = {ONS_POSITIONS_FIRST, ONS_POSITIONS_OUTER};
    ons_builder *builder = ons_match_builder(match);
    ons_value_id from = ons_match_value(match, "a"), result = ons_match_value(match, "result"), inputs[5], output;
    const ons_node *node = ons_graph_node(builder->graph, ons_graph_value(builder->graph, from)->producer);
    ons_type type = ons_match_type(match, "result");
    ons_shape dims = ons_graph_value(builder->graph, from)->type.shape;
    ons_view view;
    if (node->op != &ons_op_attention || node->attributes[ONS_ATTENTION_RESULT_ORDER].i != ONS_HEADS_FIRST ||
        !ons_view_within(builder->graph, from, result, NULL, &view))
        return ONS_NONE;
    ons_attention_steps steps = ons_attention_steps_of(dims.dims, ONS_HEADS_FIRST);
    ons_attribute attributes[ONS_ATTENTION_ATTRIBUTE_COUNT];
    uint32_t count = node->input_count < 5 ? node->input_count : 5;
    memcpy(attributes, node->attributes, sizeof attributes);
    memcpy(inputs, node->inputs, count * sizeof inputs[0]);
    for (int i = 0; i < 2; ++i) {
        ons_view ordered = view;
        ons_shape shape = ons_attention_shape_of(dims.dims, orders[i]);
        if (!ons_view_reshape(&ordered, &shape)) continue;
        put_heads_first(&ordered, orders[i]);
        if (!lies_at(&ordered, &steps)) continue;
        attributes[ONS_ATTENTION_RESULT_ORDER].i = orders[i];
        ons_build_node_like(builder, &ons_op_attention, (ons_inputs){inputs, count}, attributes, 1, NULL, &output);
        return ons_build_with_shape(builder, output, &type.shape);
    }
    return ONS_NONE;
}
