/* The heart of the form, softmax and the product with the values, is matched as a pattern. What stands before it comes
 * in any order and number - mask, scale of the scores, of the queries, of the keys, transposes - and is followed by
 * hand from the scores upwards. What is followed may have other readers: it then stays where it is. */
#include "kernels/attention/patterns.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/evaluate.h"
#include "graph/passes/fuse.h"
#include "kernels/common/attention.h"

/* Masking by a large negative number instead of -inf hides a key just as well where a row has others. */
static const double HIDDEN = -9999;

/* The node that makes `value`, if it is an `op`. */
static const ons_node *made_by(const ons_graph *graph, ons_value_id value, const char *op) {
    if (value == ONS_NONE) return NULL;
    ons_node_id id = ons_graph_value(graph, value)->producer;
    if (id == ONS_NONE || strcmp(ons_graph_node(graph, id)->op->name, op) != 0) return NULL;
    return ons_graph_node(graph, id);
}

static bool same_type(const ons_graph *graph, ons_value_id a, ons_value_id b) {
    return ons_type_equal(&ons_graph_value(graph, a)->type, &ons_graph_value(graph, b)->type);
}

/* All elements in words of double; to be freed; NULL where they are not known (or memory is short). */
static double *known_numbers(const ons_graph *graph, ons_value_id value, int64_t *count) {
    const ons_tensor *tensor = value == ONS_NONE ? NULL : ons_graph_constant(graph, value);
    if (tensor == NULL || tensor->data == NULL) return NULL;
    *count = ons_shape_elements(&tensor->type.shape);
    double *words = malloc(((size_t)*count + 1) * sizeof *words);
    if (words == NULL) return NULL;
    ons_widen(tensor->type.dtype, tensor->data, *count, words);
    for (int64_t i = 0; !ons_dtype_is_float(tensor->type.dtype) && i < *count; ++i) {
        int64_t integer;
        memcpy(&integer, &words[i], sizeof integer);
        words[i] = (double)integer;
    }
    return words;
}

/* Whether all elements are one known number. */
static bool is_number(const ons_graph *graph, ons_value_id value, double *number) {
    int64_t count = 0;
    double *words = known_numbers(graph, value, &count);
    bool same = words != NULL && count > 0;
    for (int64_t i = 1; same && i < count; ++i) same = words[i] == words[0];
    if (same) *number = words[0];
    free(words);
    return same;
}

/* Steps over one multiplication or division by a number. */
static bool step_over_scale(const ons_graph *graph, ons_value_id *value, double *scale) {
    const ons_node *product = made_by(graph, *value, "Mul"), *quotient = made_by(graph, *value, "Div");
    double number;
    for (int i = 0; product != NULL && i < 2; ++i)
        if (is_number(graph, product->inputs[i], &number) && same_type(graph, product->inputs[1 - i], *value)) {
            *scale *= number;
            *value = product->inputs[1 - i];
            return true;
        }
    if (quotient == NULL || !is_number(graph, quotient->inputs[1], &number) ||
        !same_type(graph, quotient->inputs[0], *value))
        return false;
    *scale /= number;
    *value = quotient->inputs[0];
    return true;
}

/* Where an operand's batch, heads, positions and size are among the axes of a value. */
typedef struct operand_view {
    ons_value_id value;
    int64_t axes[4];
} operand_view;

static bool step_over_transpose(const ons_graph *graph, operand_view *view) {
    const ons_node *node = made_by(graph, view->value, "Transpose");
    if (node == NULL || node->attributes[0].kind != ONS_ATTRIBUTE_INTS || node->attributes[0].count != 4) return false;
    for (int i = 0; i < 4; ++i) view->axes[i] = node->attributes[0].ints[view->axes[i]];
    view->value = node->inputs[0];
    return true;
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
    } while ((scale != NULL && step_over_scale(graph, &view.value, &so_far)) || step_over_transpose(graph, &view));
    return found;
}

typedef struct finding {
    ons_value_id query, key, value, mask;
    ons_attention_order query_order, key_order, value_order;
    double scale;
    bool causal;
} finding;

/* Whether a mask over the last two of its axes lets position t see exactly the keys up to t. `hides[i]` tells of each
 * element. */
static bool is_causal(const ons_type *mask, const bool *hides, int64_t queries, int64_t keys) {
    const ons_shape *shape = &mask->shape;
    if (shape->rank < 2 || queries != keys || shape->dims[shape->rank - 2] != queries ||
        shape->dims[shape->rank - 1] != keys)
        return false;
    int64_t count = ons_shape_elements(shape);
    for (int64_t i = 0; i < count; ++i)
        if (hides[i] != (i % keys > i / keys % queries)) return false;
    return true;
}

/* scores + mask */
static bool read_added_mask(const ons_graph *graph, finding *f, ons_value_id mask, int64_t queries, int64_t keys) {
    int64_t count = 0;
    double *words = known_numbers(graph, mask, &count);
    bool *hides = malloc((size_t)count + 1);
    bool known = words != NULL && hides != NULL, plain = true;
    for (int64_t i = 0; known && i < count; ++i) {
        hides[i] = words[i] < HIDDEN;
        plain &= hides[i] || words[i] == 0;
    }
    const ons_type *type = &ons_graph_value(graph, mask)->type;
    f->causal = known && plain && is_causal(type, hides, queries, keys);
    if (!f->causal) f->mask = mask;
    free(words);
    free(hides);
    return known && (f->causal || type->shape.dims[type->shape.rank - 1] == keys);
}

/* Where(condition, scores, fill) or Where(condition, fill, scores) with a known causal condition */
static bool read_chosen_mask(const ons_graph *graph, finding *f, const ons_node *where, bool shown_where,
                             int64_t queries, int64_t keys) {
    int64_t count = 0;
    double *words = known_numbers(graph, where->inputs[0], &count);
    bool *hides = malloc((size_t)count + 1);
    bool known = words != NULL && hides != NULL;
    for (int64_t i = 0; known && i < count; ++i) hides[i] = (words[i] != 0) != shown_where;
    f->causal = known && is_causal(&ons_graph_value(graph, where->inputs[0])->type, hides, queries, keys);
    free(words);
    free(hides);
    return f->causal;
}

/* Takes the mask off the scores. */
static bool step_over_mask(const ons_graph *graph, finding *f, ons_value_id *scores) {
    ons_shape shape = ons_graph_value(graph, *scores)->type.shape;
    int64_t queries = shape.dims[2], keys = shape.dims[3];
    const ons_node *sum = made_by(graph, *scores, "Add"), *where = made_by(graph, *scores, "Where");
    double fill;
    for (int i = 0; sum != NULL && i < 2; ++i)
        if (ons_graph_constant(graph, sum->inputs[i]) != NULL && same_type(graph, sum->inputs[1 - i], *scores)) {
            *scores = sum->inputs[1 - i];
            return read_added_mask(graph, f, sum->inputs[i], queries, keys);
        }
    for (int i = 1; where != NULL && i < 3; ++i)
        if (is_number(graph, where->inputs[i], &fill) && fill < HIDDEN &&
            same_type(graph, where->inputs[3 - i], *scores)) {
            *scores = where->inputs[3 - i];
            return read_chosen_mask(graph, f, where, i == 2, queries, keys);
        }
    return sum == NULL && where == NULL;
}

static bool find_parts(const ons_graph *graph, ons_value_id scores, ons_value_id values, finding *f) {
    *f = (finding){.mask = ONS_NONE, .scale = 1};
    if (ons_graph_value(graph, scores)->type.shape.rank != 4 || ons_graph_value(graph, values)->type.shape.rank != 4 ||
        !step_over_mask(graph, f, &scores))
        return false;
    while (step_over_scale(graph, &scores, &f->scale)) continue;
    const ons_node *product = made_by(graph, scores, "MatMul");
    if (product == NULL || ons_graph_value(graph, product->inputs[0])->type.shape.rank != 4 ||
        ons_graph_value(graph, product->inputs[1])->type.shape.rank != 4)
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
static bool is_regular(const ons_graph *graph, const finding *f, const ons_type *result) {
    const ons_value_id values[3] = {f->query, f->key, f->value};
    const ons_attention_order orders[3] = {f->query_order, f->key_order, f->value_order};
    int64_t keys = 0;
    for (int i = 0; i < 3; ++i) {
        const ons_type *type = &ons_graph_value(graph, values[i])->type;
        const int64_t *d = type->shape.dims, *r = result->shape.dims;
        int64_t heads = d[orders[i] == ONS_POSITIONS_FIRST ? 2 : 1], size = d[orders[i] == ONS_SIZE_FIRST ? 2 : 3];
        int64_t positions = d[orders[i] == ONS_HEADS_FIRST ? 2 : orders[i] == ONS_POSITIONS_FIRST ? 1 : 3];
        keys = i == 1 ? positions : keys;
        if (type->dtype != ONS_FLOAT32 || d[0] != r[0] || heads != r[1] || size != r[3] ||
            positions != (i == 0 ? r[2] : keys))
            return false;
    }
    return true;
}

static ons_value_id replace(ons_match *match, bool guard) {
    ons_builder *builder = ons_match_builder(match);
    const ons_operands *softmax = ons_match_node(match, "p");
    ons_type result = ons_match_type(match, "result");
    finding f;
    if (softmax == NULL || !is_over_keys(softmax) || result.shape.rank != 4 ||
        !find_parts(builder->graph, ons_match_value(match, "scores"), ons_match_value(match, "values"), &f) ||
        !is_regular(builder->graph, &f, &result))
        return ONS_NONE;
    return ons_build(builder, &ons_op_attention, ONS_IN(f.query, f.key, f.value, f.mask),
                     ONS_WITH(ONS_AT_FLOAT(ONS_ATTENTION_SCALE, f.scale), ONS_AT_INT(ONS_ATTENTION_CAUSAL, f.causal),
                              ONS_AT_INT(ONS_ATTENTION_GUARD, guard),
                              ONS_AT_INT(ONS_ATTENTION_QUERY_ORDER, f.query_order),
                              ONS_AT_INT(ONS_ATTENTION_KEY_ORDER, f.key_order),
                              ONS_AT_INT(ONS_ATTENTION_VALUE_ORDER, f.value_order)));
}

static ons_value_id replace_plain(ons_match *match) { return replace(match, false); }

static ons_value_id replace_guarded(ons_match *match) { return replace(match, true); }

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
    ons_attribute attributes[ONS_ATTENTION_RESULT_ORDER + 1];
    memcpy(attributes, node->attributes, sizeof attributes);
    attributes[ONS_ATTENTION_RESULT_ORDER].i = ONS_POSITIONS_FIRST;
    ons_value_id inputs[4], output;
    uint32_t count = node->input_count < 4 ? node->input_count : 4;
    memcpy(inputs, node->inputs, count * sizeof inputs[0]);
    ons_build_node_like(builder, &ons_op_attention, (ons_inputs){inputs, count}, attributes, 1, NULL, &output);
    return output;
}

const ons_pattern ons_attention_patterns[] = {
    {"MatMul(p=Softmax(scores), values)", replace_plain},
    {"MatMul(Where(IsNaN(p=Softmax(scores)), 0, p), values)", replace_guarded},
    {"Transpose(a=Attention(query))", absorb_transpose},
    {.form = NULL},
};
