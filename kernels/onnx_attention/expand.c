/* ONNX's Attention as nodes: the fused operator wherever that serves, else products and a softmax. */
#include <float.h>
#include <math.h>

#include "kernels/attention/attention_operands.h"
#include "kernels/onnx_attention/sizes.h"
#include "kernels/operators.h"

typedef struct expansion {
    ons_replacement *m;
    ons_onnx_attention a;
    ons_value_id query, key, value; /* [batch, heads, positions, size] */
    ons_value_id bias;              /* float32, broadcasts to the scores; ONS_NONE: no masks */
    bool blind;                     /* a query may see no key at all */
} expansion;

/* An operand as [batch, heads, positions, size]. */
static ons_value_id split_heads(expansion *e, uint32_t input, int64_t heads, int64_t positions, int64_t size) {
    static const int64_t heads_first[4] = {0, 2, 1, 3};
    if (!e->a.rank_3) return e->m->inputs[input];
    ons_value_id x = ons_expand_reshape(e->m, e->m->inputs[input], 4, (int64_t[]){e->a.batch, positions, heads, size});
    return ons_expand_transpose(e->m, x, 4, heads_first);
}

/* Every head of keys or values for each of the heads of queries that share it. */
static ons_value_id repeat_heads(expansion *e, ons_value_id x, int64_t size) {
    const ons_onnx_attention *a = &e->a;
    int64_t shared = a->heads / a->key_heads;
    if (shared == 1) return x;
    const int64_t repeated[5] = {a->batch, a->key_heads, shared, a->keys, size};
    x = ons_expand_reshape(e->m, x, 5, (int64_t[]){a->batch, a->key_heads, 1, a->keys, size});
    x = ons_expand2(e->m, &ons_op_expand, x, ons_build_integers(e->m->builder, repeated, 5));
    return ons_expand_reshape(e->m, x, 4, (int64_t[]){a->batch, a->heads, a->keys, size});
}

/* A tensor of float32 from a function of query and key. */
static ons_value_id table_of(expansion *e, double (*entry)(const ons_onnx_attention *a, int64_t i, int64_t j)) {
    const ons_onnx_attention *a = &e->a;
    if (a->queries > 0 && a->keys > (1 << 28) / a->queries) {
        ons_builder_fail(e->m->builder,
                         ons_node_error(e->m->operands, "a mask of %lld queries and %lld keys is too large",
                                        (long long)a->queries, (long long)a->keys));
        return ONS_NONE;
    }
    int64_t count = a->queries * a->keys;
    double *words = ons_arena_allocate(e->m->builder->graph->arena, (size_t)count + 1, sizeof *words);
    if (words == NULL) {
        ons_builder_fail(e->m->builder, ons_status_out_of_memory());
        return ONS_NONE;
    }
    for (int64_t i = 0; i < count; ++i) words[i] = entry(a, i / a->keys, i % a->keys);
    ons_type type = ons_type_make(ONS_FLOAT32, ons_shape_make(2, (int64_t[]){a->queries, a->keys}));
    return ons_build_constant(e->m->builder, e->m->operands->name, &type, words);
}

/* How many keys lie before the query's own position and the key: negative for keys after it. */
static double distance(const ons_onnx_attention *a, int64_t i, int64_t j) {
    return (double)((a->has_valid_keys ? i - a->queries : i + a->past) - j);
}

static double position_bias(const ons_onnx_attention *a, int64_t i, int64_t j) {
    double d = distance(a, i, j);
    bool hidden =
        (a->causal && d < 0) || (a->before >= 0 && d > (double)a->before) || (a->after >= 0 && -d > (double)a->after);
    return hidden ? -INFINITY : 0;
}

static double key_number(const ons_onnx_attention *a, int64_t i, int64_t j) { return (double)j; }

static ons_value_id shown_where(expansion *e, ons_value_id condition) {
    ons_builder *b = e->m->builder;
    return ons_build(
        b, &ons_op_where,
        ONS_IN(condition, ons_build_scalar(b, ONS_FLOAT32, 0), ons_build_scalar(b, ONS_FLOAT32, -INFINITY)),
        ONS_DEFAULTS);
}

/* Masks by position where every sample has its own number of keys: `valid` is [batch, 1, 1, 1]. */
static ons_value_id sample_bias(expansion *e, ons_value_id valid) {
    const ons_onnx_attention *a = &e->a;
    ons_builder *b = e->m->builder;
    ons_value_id bias = shown_where(e, ons_expand2(e->m, &ons_op_less, table_of(e, key_number), valid));
    if (!a->causal && a->before < 0 && a->after < 0) return bias;
    ons_value_id d = ons_expand2(e->m, &ons_op_add, table_of(e, distance), valid);
    if (a->causal || a->after >= 0) {
        double least = a->causal ? 0 : -(double)a->after;
        bias = ons_expand2(
            e->m, &ons_op_add, bias,
            shown_where(e, ons_expand2(e->m, &ons_op_greater_or_equal, d, ons_build_scalar(b, ONS_FLOAT32, least))));
    }
    if (a->before >= 0)
        bias = ons_expand2(e->m, &ons_op_add, bias,
                           shown_where(e, ons_expand2(e->m, &ons_op_less_or_equal, d,
                                                      ons_build_scalar(b, ONS_FLOAT32, (double)a->before))));
    return bias;
}

/* The mask that is given, as numbers to add; keys that it lacks are hidden. */
static ons_value_id given_bias(expansion *e) {
    const ons_onnx_attention *a = &e->a;
    const ons_type *type = &e->m->operands->inputs[ONS_ONNX_MASK];
    ons_value_id mask = e->m->inputs[ONS_ONNX_MASK];
    mask = type->dtype == ONS_BOOL ? shown_where(e, mask) : ons_expand_cast(e->m, mask, ONS_FLOAT32);
    ons_shape missing = type->shape;
    missing.dims[missing.rank - 1] = a->keys - a->mask_dims[3];
    if (missing.dims[missing.rank - 1] == 0) return mask;
    ons_value_id hidden = ons_expand2(e->m, &ons_op_expand, ons_build_scalar(e->m->builder, ONS_FLOAT32, -INFINITY),
                                      ons_build_integers(e->m->builder, missing.dims, missing.rank));
    return ons_expand_concat(e->m, mask, hidden, -1);
}

/* Everything that is added to the scores. `causal`: with the causal mask, where that is a table. */
static void find_bias(expansion *e, bool causal) {
    const ons_onnx_attention *a = &e->a;
    bool window = a->before >= 0 || a->after >= 0;
    e->blind = a->has_mask || a->has_valid_keys || window;
    e->bias = a->has_mask ? given_bias(e) : (ons_value_id)ONS_NONE;
    if (a->has_valid_keys) {
        ons_value_id valid =
            ons_expand_reshape(e->m, e->m->inputs[ONS_ONNX_VALID_KEYS], 4, (int64_t[]){a->batch, 1, 1, 1});
        e->bias = ons_expand_sum(e->m, e->bias, sample_bias(e, ons_expand_cast(e->m, valid, ONS_FLOAT32)));
    } else if (causal || window) {
        e->bias = ons_expand_sum(e->m, e->bias, table_of(e, position_bias));
    }
}

static ons_value_id cap(expansion *e, ons_value_id scores) {
    if (!(e->a.softcap > 0)) return scores;
    ons_value_id tanh = ons_expand1(e->m, &ons_op_tanh, ons_expand_scale(e->m, scores, 1 / e->a.softcap));
    return ons_expand_scale(e->m, tanh, e->a.softcap);
}

/* The softmax in its own precision. A query that sees nothing has all its scores and probabilities replaced by zeros:
 * no NaN comes up, in the gradient neither. */
static ons_value_id probabilities(expansion *e, ons_value_id scores) {
    static const int64_t last = -1;
    ons_builder *b = e->m->builder;
    ons_dtype dtype = ons_builder_type(b, scores).dtype;
    ons_value_id sees_nothing = ONS_NONE;
    if (e->blind) {
        ons_value_id largest = ons_build(b, &ons_op_reduce_max, ONS_IN(e->bias, ons_build_integers(b, &last, 1)),
                                         ONS_WITH(ONS_AT_INT(0, 1)));
        sees_nothing = ons_expand2(e->m, &ons_op_less, largest, ons_build_scalar(b, ONS_FLOAT32, -FLT_MAX));
        scores = ons_build(b, &ons_op_where, ONS_IN(sees_nothing, ons_expand_scalar_like(e->m, scores, 0), scores),
                           ONS_DEFAULTS);
    }
    ons_value_id p = ons_expand1(e->m, &ons_op_softmax, ons_expand_cast(e->m, scores, e->a.precision));
    if (e->blind)
        p = ons_build(b, &ons_op_where, ONS_IN(sees_nothing, ons_expand_scalar_like(e->m, p, 0), p), ONS_DEFAULTS);
    return ons_expand_cast(e->m, p, dtype);
}

/* The result as the node has it, from [batch, heads, queries, size]. */
static ons_value_id join_heads(expansion *e, ons_value_id y) {
    static const int64_t positions_first[4] = {0, 2, 1, 3};
    const ons_onnx_attention *a = &e->a;
    if (!a->rank_3) return y;
    return ons_expand_reshape(e->m, ons_expand_transpose(e->m, y, 4, positions_first), 3,
                              (int64_t[]){a->batch, a->queries, a->heads * a->value_size});
}

static ons_value_id by_nodes(expansion *e, ons_value_id *shown) {
    static const int64_t last_two[4] = {0, 1, 3, 2};
    const ons_onnx_attention *a = &e->a;
    ons_replacement *m = e->m;
    ons_value_id steps[4]; /* what ONS_ONNX_SCORES may show */
    find_bias(e, a->causal);
    ons_value_id turned = ons_expand_transpose(m, repeat_heads(e, e->key, a->size), 4, last_two);
    steps[ONS_SCORES_RAW] = ons_expand_scale(m, ons_expand2(m, &ons_op_matmul, e->query, turned), a->scale);
    steps[ONS_SCORES_CAPPED] = steps[ONS_SCORES_MASKED] = cap(e, steps[ONS_SCORES_RAW]);
    if (e->bias != ONS_NONE)
        steps[ONS_SCORES_MASKED] =
            ons_expand2(m, &ons_op_add, steps[ONS_SCORES_CAPPED],
                        ons_expand_cast(m, e->bias, ons_builder_type(m->builder, steps[ONS_SCORES_CAPPED]).dtype));
    steps[ONS_SCORES_SOFTMAX] = probabilities(e, steps[ONS_SCORES_MASKED]);
    *shown = steps[a->scores_mode];
    ons_value_id p = ons_expand_cast(m, steps[ONS_SCORES_SOFTMAX], m->operands->inputs[ONS_ONNX_VALUE].dtype);
    ons_value_id y = ons_expand2(m, &ons_op_matmul, p, repeat_heads(e, e->value, a->value_size));
    return join_heads(e, ons_expand_cast(m, y, m->operands->inputs[ONS_ONNX_QUERY].dtype));
}

/* Whether one fused node does it. */
static bool fuses(const expansion *e) {
    const ons_operands *o = e->m->operands;
    const ons_onnx_attention *a = &e->a;
    return o->inputs[ONS_ONNX_QUERY].dtype == ONS_FLOAT32 && o->inputs[ONS_ONNX_VALUE].dtype == ONS_FLOAT32 &&
           a->precision == ONS_FLOAT32 && a->size == a->value_size && !(a->softcap > 0) && a->scale > 0 &&
           a->keys > 0 && !(o->output_count > ONS_ONNX_SCORES && e->m->outputs_used[ONS_ONNX_SCORES]);
}

static ons_value_id by_fused_node(expansion *e) {
    const ons_onnx_attention *a = &e->a;
    bool window = a->before >= 0 || a->after >= 0;
    bool plain = a->causal && !window && !a->has_valid_keys && a->past == 0 && a->queries == a->keys;
    find_bias(e, a->causal && !plain);
    return join_heads(
        e,
        ons_build(e->m->builder, &ons_op_attention,
                  ONS_IN(e->query, repeat_heads(e, e->key, a->size), repeat_heads(e, e->value, a->value_size), e->bias),
                  ONS_WITH(ONS_AT_FLOAT(ONS_ATTENTION_SCALE, a->scale), ONS_AT_INT(ONS_ATTENTION_CAUSAL, plain),
                           ONS_AT_INT(ONS_ATTENTION_GUARD, e->blind))));
}

ons_status *ons_onnx_attention_expand(ons_replacement *m) {
    expansion e = {.m = m};
    ons_resolved(ons_onnx_attention_of(m->operands, &e.a));
    const ons_onnx_attention *a = &e.a;
    e.query = split_heads(&e, ONS_ONNX_QUERY, a->heads, a->queries, a->size);
    e.key = split_heads(&e, ONS_ONNX_KEY, a->key_heads, a->new_keys, a->size);
    e.value = split_heads(&e, ONS_ONNX_VALUE, a->key_heads, a->new_keys, a->value_size);
    if (ons_has_input(m->operands, ONS_ONNX_PAST_KEY)) {
        e.key = ons_expand_concat(m, m->inputs[ONS_ONNX_PAST_KEY], e.key, 2);
        e.value = ons_expand_concat(m, m->inputs[ONS_ONNX_PAST_VALUE], e.value, 2);
    }
    uint32_t outputs = m->operands->output_count;
    if (outputs > ONS_ONNX_PRESENT_KEY) m->outputs[ONS_ONNX_PRESENT_KEY] = e.key;
    if (outputs > ONS_ONNX_PRESENT_VALUE) m->outputs[ONS_ONNX_PRESENT_VALUE] = e.value;
    ons_value_id shown = ONS_NONE, y = fuses(&e) ? by_fused_node(&e) : by_nodes(&e, &shown);
    if (outputs > ONS_ONNX_SCORES) m->outputs[ONS_ONNX_SCORES] = shown;
    return ons_expand_finish(m, y);
}
