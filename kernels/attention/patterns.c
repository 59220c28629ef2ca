/* The heart of the form, softmax and the product with the values, is matched as a pattern. What stands before it comes
 * in any order and number - mask, scale of the scores, of the queries, of the keys, transposes - and is followed by
 * hand from the scores upwards. What is followed may have other readers: it then stays where it is. */
#include "kernels/attention/patterns.h"

#include <math.h>
#include <string.h>

#include "graph/passes/fuse.h"
#include "kernels/attention/attention_operands.h"
#include "kernels/attention/masks.h"
#include "kernels/common/layout/axes.h"
#include "kernels/operators.h"

/* Where an operand's batch, heads, positions and size are among the axes of a value. */
typedef struct operand_view {
    ons_value_id value;
    int64_t axes[4];
} operand_view;

static bool step_over_transpose(const ons_graph *graph, operand_view *view) {
    const ons_node *node = ons_made_by(graph, view->value, "Transpose");
    if (node == NULL || node->attributes[0].kind != ONS_ATTRIBUTE_INTS) return false;
    int64_t missing = 4 - (int64_t)node->attributes[0].count; /* axes in front: 1 where all heads are one batch */
    if (missing != 0 && missing != 1) return false;
    for (int64_t i = missing; i < 4; ++i) view->axes[i] = node->attributes[0].ints[view->axes[i] - missing] + missing;
    view->value = node->inputs[0];
    return true;
}

/* Keys transposed by way of one axis for batch and heads: [b, h, t, d] → [b·h, t, d] → [b·h, d, t] → [b, h, d, t]. */
static bool step_over_flat_transpose(const ons_graph *graph, operand_view *view) {
    const ons_node *last = ons_made_by(graph, view->value, "Reshape");
    const ons_node *middle = last == NULL ? NULL : ons_made_by(graph, last->inputs[0], "Transpose");
    const ons_node *first = middle == NULL ? NULL : ons_made_by(graph, middle->inputs[0], "Reshape");
    static const int64_t exchanged[3] = {0, 2, 1};
    if (first == NULL || middle->attributes[0].kind != ONS_ATTRIBUTE_INTS || middle->attributes[0].count != 3 ||
        memcmp(middle->attributes[0].ints, exchanged, sizeof exchanged) != 0)
        return false;
    const ons_shape *from = &ons_graph_value(graph, first->inputs[0])->type.shape;
    const ons_shape *flat = &ons_graph_value(graph, middle->inputs[0])->type.shape;
    const ons_shape *to = &ons_graph_value(graph, view->value)->type.shape;
    bool same = from->rank == 4 && to->rank == 4 && from->dims[0] == to->dims[0] && from->dims[1] == to->dims[1] &&
                from->dims[2] == to->dims[3] && from->dims[3] == to->dims[2] && flat->dims[1] == from->dims[2] &&
                flat->dims[2] == from->dims[3];
    for (int i = 0; same && i < 4; ++i) view->axes[i] = view->axes[i] < 2 ? view->axes[i] : 5 - view->axes[i];
    if (same) view->value = first->inputs[0];
    return same;
}

static bool order_of(const operand_view *view, bool keys, ons_attention_order *order) {
    static const int64_t orders[3][4] = {{0, 1, 2, 3}, {0, 2, 1, 3}, {0, 1, 3, 2}};
    for (int i = 0; i < (keys ? 3 : 2); ++i)
        if (memcmp(view->axes, orders[i], sizeof orders[i]) == 0) {
            *order = (ons_attention_order)i;
            return true;
        }
    return false;
}

/* Follows an operand upwards as long as it is transposed or (unless `scale` is NULL) scaled, and keeps the last order
 * that the kernel reads. */
static bool find_operand(const ons_graph *graph, operand_view view, bool keys, double *scale, ons_value_id *value,
                         ons_attention_order *order) {
    bool found = false;
    double so_far = 1;
    do {
        if (order_of(&view, keys, order)) {
            found = true;
            *value = view.value;
            if (scale != NULL) *scale = so_far;
        }
    } while ((scale != NULL && ons_step_over_scale(graph, &view.value, &so_far)) || step_over_transpose(graph, &view) ||
             step_over_flat_transpose(graph, &view));
    return found;
}

typedef struct finding {
    ons_value_id query, key, value;
    ons_attention_order query_order, key_order, value_order;
    ons_found_masks masks;
    double scale;
} finding;

/* A shape of rank 3 has all heads of all samples in its first axis: they are the heads of one sample. */
static ons_shape with_batch(const ons_graph *graph, ons_value_id value) {
    ons_shape shape = ons_graph_value(graph, value)->type.shape;
    if (shape.rank != 3) return shape;
    return (ons_shape){4, {1, shape.dims[0], shape.dims[1], shape.dims[2]}};
}

static bool find_parts(const ons_graph *graph, ons_value_id scores, ons_value_id values, finding *f) {
    uint32_t rank = ons_graph_value(graph, scores)->type.shape.rank;
    *f = (finding){.scale = 1};
    if ((rank != 3 && rank != 4) || ons_graph_value(graph, values)->type.shape.rank != rank ||
        !ons_step_over_masks(graph, with_batch(graph, scores).dims, &scores, &f->masks))
        return false;
    while (ons_step_over_scale(graph, &scores, &f->scale)) continue;
    const ons_node *product = ons_made_by(graph, scores, "MatMul");
    if (product == NULL || ons_graph_value(graph, product->inputs[0])->type.shape.rank != rank ||
        ons_graph_value(graph, product->inputs[1])->type.shape.rank != rank)
        return false;
    double query_scale = 1, key_scale = 1;
    if (!find_operand(graph, (operand_view){product->inputs[0], {0, 1, 2, 3}}, false, &query_scale, &f->query,
                      &f->query_order) ||
        !find_operand(graph, (operand_view){product->inputs[1], {0, 1, 3, 2}}, true, &key_scale, &f->key,
                      &f->key_order) ||
        !find_operand(graph, (operand_view){values, {0, 1, 2, 3}}, false, NULL, &f->value, &f->value_order))
        return false;
    f->scale *= query_scale * key_scale;
    return f->scale > 0 && isfinite(f->scale);
}

/* The last axis, as softmax's only one. */
static bool is_over_keys(const ons_operands *softmax) {
    int64_t axis = softmax->attributes[0].i;
    return axis == -1 || axis == (int64_t)softmax->inputs[0].shape.rank - 1;
}

/* Batch, heads and size agree without broadcasting. */
static bool is_regular(const ons_graph *graph, const finding *f, const ons_shape *result) {
    const ons_value_id values[3] = {f->query, f->key, f->value};
    const ons_attention_order orders[3] = {f->query_order, f->key_order, f->value_order};
    int64_t keys = 0;
    for (int i = 0; i < 3; ++i) {
        ons_shape shape = with_batch(graph, values[i]);
        const int64_t *d = shape.dims, *r = result->dims;
        int64_t heads = d[orders[i] == ONS_POSITIONS_FIRST ? 2 : 1], size = d[orders[i] == ONS_SIZE_FIRST ? 2 : 3];
        int64_t positions = d[orders[i] == ONS_HEADS_FIRST ? 2 : orders[i] == ONS_POSITIONS_FIRST ? 1 : 3];
        keys = i == 1 ? positions : keys;
        if (ons_graph_value(graph, values[i])->type.dtype != ONS_FLOAT32 || d[0] != r[0] || heads != r[1] ||
            size != r[3] || positions != (i == 0 ? r[2] : keys))
            return false;
    }
    return true;
}

static ons_value_id as_rank_4(ons_builder *builder, ons_value_id value) {
    ons_shape shape = with_batch(builder->graph, value);
    return ons_builder_type(builder, value).shape.rank == 4 ? value : ons_build_reshape(builder, value, &shape);
}

static ons_value_id replace(ons_match *match, bool guard, bool drops) {
    ons_builder *builder = ons_match_builder(match);
    const ons_operands *softmax = ons_match_node(match, "p");
    ons_type result = ons_match_type(match, "result");
    ons_shape shape = result.shape;
    if (shape.rank == 3) shape = (ons_shape){4, {1, shape.dims[0], shape.dims[1], shape.dims[2]}};
    finding f;
    if (softmax == NULL || !is_over_keys(softmax) || shape.rank != 4 ||
        !find_parts(builder->graph, ons_match_value(match, "scores"), ons_match_value(match, "values"), &f) ||
        !is_regular(builder->graph, &f, &shape))
        return ONS_NONE;
    ons_value_id query = as_rank_4(builder, f.query), key = as_rank_4(builder, f.key), kept = ONS_NONE;
    const ons_operands *dropout = drops ? ons_match_node(match, "d") : NULL;
    double ratio = dropout == NULL ? 0 : dropout->attributes[0].f;
    if (dropout != NULL) {
        ons_shape pairs = with_batch(builder->graph, ons_match_value(match, "scores"));
        kept = ons_build(
            builder, &ons_op_dropout_mask, (ons_inputs){NULL, 0},
            ONS_WITH(ONS_AT_FLOAT(0, ratio), {1, dropout->attributes[1]}, ONS_AT_INTS(2, pairs.rank, pairs.dims)));
    }
    ons_value_id y = ons_build(
        builder, &ons_op_attention,
        ONS_IN(query, key, as_rank_4(builder, f.value), ons_build_masks(builder, &f.masks), kept),
        ONS_WITH(ONS_AT_FLOAT(ONS_ATTENTION_RATIO, ratio), ONS_AT_FLOAT(ONS_ATTENTION_SCALE, f.scale),
                 ONS_AT_INT(ONS_ATTENTION_CAUSAL, f.masks.causal), ONS_AT_INT(ONS_ATTENTION_GUARD, guard),
                 ONS_AT_INT(ONS_ATTENTION_QUERY_ORDER, f.query_order), ONS_AT_INT(ONS_ATTENTION_KEY_ORDER, f.key_order),
                 ONS_AT_INT(ONS_ATTENTION_VALUE_ORDER, f.value_order)));
    return result.shape.rank == 4 ? y : ons_build_reshape(builder, y, &result.shape);
}

static ons_value_id replace_plain(ons_match *match) { return replace(match, false, false); }
static ons_value_id replace_guarded(ons_match *match) { return replace(match, true, false); }
static ons_value_id replace_dropping(ons_match *match) { return replace(match, false, true); }
static ons_value_id replace_guarded_dropping(ons_match *match) { return replace(match, true, true); }

/* The transpose behind it, back to positions first. */
static ons_value_id absorb_transpose(ons_match *match) {
    static const int64_t exchanged[4] = {0, 2, 1, 3};
    ons_builder *builder = ons_match_builder(match);
    const ons_operands *transpose = ons_match_node(match, "result"), *attention = ons_match_node(match, "a");
    if (transpose == NULL || attention == NULL || attention->op != &ons_op_attention ||
        attention->attributes[ONS_ATTENTION_RESULT_ORDER].i != ONS_HEADS_FIRST ||
        transpose->attributes[0].kind != ONS_ATTRIBUTE_INTS || transpose->attributes[0].count != 4 ||
        memcmp(transpose->attributes[0].ints, exchanged, sizeof exchanged) != 0)
        return ONS_NONE;
    const ons_node *node =
        ons_graph_node(builder->graph, ons_graph_value(builder->graph, ons_match_value(match, "a"))->producer);
    ons_attribute attributes[ONS_ATTENTION_ATTRIBUTE_COUNT];
    memcpy(attributes, node->attributes, sizeof attributes);
    attributes[ONS_ATTENTION_RESULT_ORDER].i = ONS_POSITIONS_FIRST;
    ons_value_id inputs[5], output;
    uint32_t count = node->input_count < 5 ? node->input_count : 5;
    memcpy(inputs, node->inputs, count * sizeof inputs[0]);
    ons_build_node_like(builder, &ons_op_attention, (ons_inputs){inputs, count}, attributes, 1, NULL, &output);
    return output;
}

/* Transposes before it: of a node that was built from an operator of ONNX's, say. */
static ons_value_id absorb_operands(ons_match *match) {
    ons_builder *builder = ons_match_builder(match);
    const ons_node *node =
        ons_graph_node(builder->graph, ons_graph_value(builder->graph, ons_match_value(match, "result"))->producer);
    ons_attribute attributes[ONS_ATTENTION_ATTRIBUTE_COUNT];
    ons_value_id inputs[5], output;
    uint32_t count = node->input_count < 5 ? node->input_count : 5;
    bool changes = false;
    if (node->op != &ons_op_attention) return ONS_NONE;
    memcpy(attributes, node->attributes, sizeof attributes);
    memcpy(inputs, node->inputs, count * sizeof inputs[0]);
    for (int i = 0; i < 3; ++i) {
        ons_attribute *order = &attributes[ONS_ATTENTION_QUERY_ORDER + i];
        ons_attention_order found = ONS_HEADS_FIRST;
        if (order->i != ONS_HEADS_FIRST ||
            !find_operand(builder->graph, (operand_view){inputs[i], {0, 1, 2, 3}}, i == 1, NULL, &inputs[i], &found))
            continue;
        order->i = found;
        changes |= inputs[i] != node->inputs[i];
    }
    if (!changes) return ONS_NONE;
    ons_build_node_like(builder, &ons_op_attention, (ons_inputs){inputs, count}, attributes, 1, NULL, &output);
    return output;
}

/* The Split that a value is piece `piece` of, if that has three equal ones along its last axis; or NULL. `dims`: those
 * of the piece seen as [batch, positions, heads, size]. */
static const ons_node *split_of(const ons_graph *graph, ons_value_id value, uint32_t piece, int64_t dims[static 4]) {
    const ons_node *reshape = ons_made_by(graph, value, "Reshape");
    const ons_shape *shape = &ons_graph_value(graph, value)->type.shape;
    if (reshape == NULL || shape->rank != 4) return NULL;
    const ons_node *split = ons_made_by(graph, reshape->inputs[0], "Split");
    if (split == NULL || split->output_count != 3 || split->outputs[piece] != reshape->inputs[0]) return NULL;
    const ons_shape *whole = &ons_graph_value(graph, split->inputs[0])->type.shape;
    const ons_shape *part = &ons_graph_value(graph, reshape->inputs[0])->type.shape;
    memcpy(dims, shape->dims, 4 * sizeof *dims);
    bool fits = whole->rank == 3 && part->dims[0] == dims[0] && part->dims[1] == dims[1] &&
                part->dims[2] == dims[2] * dims[3] && whole->dims[0] == part->dims[0] &&
                whole->dims[1] == part->dims[1] && whole->dims[2] == 3 * part->dims[2];
    return fits ? split : NULL;
}

/* Queries, keys and values that one layer makes, without taking them apart. */
static ons_value_id absorb_split(ons_match *match) {
    ons_builder *builder = ons_match_builder(match);
    const ons_node *node =
        ons_graph_node(builder->graph, ons_graph_value(builder->graph, ons_match_value(match, "result"))->producer);
    if (node->op != &ons_op_attention || node->attributes[ONS_ATTENTION_PACKED].i != 0) return ONS_NONE;
    const ons_node *split = NULL;
    int64_t dims[3][4];
    for (uint32_t i = 0; i < 3; ++i) {
        const ons_node *found = node->attributes[ONS_ATTENTION_QUERY_ORDER + i].i == ONS_POSITIONS_FIRST
                                    ? split_of(builder->graph, node->inputs[i], i, dims[i])
                                    : NULL;
        if (found == NULL || (i > 0 && (found != split || memcmp(dims[i], dims[0], sizeof dims[0]) != 0)))
            return ONS_NONE;
        split = found;
    }
    ons_attribute attributes[ONS_ATTENTION_ATTRIBUTE_COUNT];
    ons_value_id inputs[5], output;
    uint32_t count = node->input_count < 5 ? node->input_count : 5;
    memcpy(attributes, node->attributes, sizeof attributes);
    memcpy(inputs, node->inputs, count * sizeof inputs[0]);
    attributes[ONS_ATTENTION_PACKED].i = 1;
    ons_shape shape = ons_shape_make(4, (int64_t[]){dims[0][0], dims[0][1], 3 * dims[0][2], dims[0][3]});
    inputs[0] = inputs[1] = inputs[2] = ons_build_reshape(builder, split->inputs[0], &shape);
    ons_build_node_like(builder, &ons_op_attention, (ons_inputs){inputs, count}, attributes, 1, NULL, &output);
    return output;
}

const ons_pattern ons_attention_patterns[] = {
    {"MatMul(p=Softmax(scores), values)", replace_plain},
    {"MatMul(Where(IsNaN(p=Softmax(scores)), 0, p), values)", replace_guarded},
    {"MatMul(d=DropoutTraining(p=Softmax(scores)), values)", replace_dropping},
    {"MatMul(d=DropoutTraining(Where(IsNaN(p=Softmax(scores)), 0, p)), values)", replace_guarded_dropping},
    {"Transpose(a=Attention(query))", absorb_transpose},
    {"Attention(query, key, values)", absorb_operands},
    {"Attention(query, key, values)", absorb_split},
    {.form = NULL},
};
