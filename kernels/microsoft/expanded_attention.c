#include "kernels/microsoft/expanded_attention.h"

#include <math.h>

#include "kernels/attention/attention_operands.h"
#include "kernels/operators.h"

ons_status *ons_heads_check(const ons_operands *o, ons_heads *h, uint32_t mask, uint32_t bias) {
    h->mask = ONS_NO_KEY_MASK;
    if (ons_has_input(o, mask)) {
        const ons_type *type = &o->inputs[mask];
        const int64_t *dims = type->shape.dims;
        uint32_t rank = type->shape.rank;
        if (type->dtype != ONS_INT32 && type->dtype != ONS_INT64)
            return ons_node_error(o, "the mask is %s; int32 is needed", ons_dtype_name(type->dtype));
        if (rank == 1 && dims[0] == h->batch)
            h->mask = ONS_KEY_COUNTS;
        else if (rank == 1 && dims[0] == 2 * h->batch)
            h->mask = ONS_KEY_SPANS;
        else if (rank == 2 && dims[0] == h->batch && dims[1] == h->keys)
            h->mask = ONS_KEY_MASK;
        else if (rank == 3 && dims[0] == h->batch && dims[1] == h->queries && dims[2] == h->keys)
            h->mask = ONS_SCORE_MASK;
        else
            return ons_node_error(o, "a mask of this shape is not supported; [batch], [2 batch], [batch, keys] and "
                                     "[batch, queries, keys] are");
    }
    if (!ons_has_input(o, bias)) return NULL;
    const ons_shape *shape = &o->inputs[bias].shape;
    if (shape->rank != 4 || (shape->dims[0] != 1 && shape->dims[0] != h->batch) ||
        (shape->dims[1] != 1 && shape->dims[1] != h->heads) || shape->dims[2] != h->queries ||
        shape->dims[3] != h->keys || o->inputs[bias].dtype != o->inputs[0].dtype)
        return ons_node_error(o, "the bias of the scores must be [batch, heads, queries, keys]");
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------------ nodes */

/* A boolean, true where the key is seen, that broadcasts to the scores. */
static ons_value_id seen(ons_replacement *m, const ons_heads *h, ons_value_id mask) {
    int64_t keys_dims[] = {1, h->keys}, counts_dims[] = {h->batch, 1};
    int64_t mask_dims[] = {h->batch, 1, h->mask == ONS_SCORE_MASK ? h->queries : 1, h->keys};
    ons_value_id result = ONS_NONE;
    if (h->mask == ONS_KEY_COUNTS || h->mask == ONS_KEY_SPANS) {
        ons_value_id counts = ons_expand_cast(m, mask, ONS_INT64);
        ons_value_id places = ons_expand_range(m, 0, h->keys, 2, keys_dims);
        ons_value_id ends = h->mask == ONS_KEY_SPANS ? ons_expand_slice(m, counts, 0, 0, h->batch) : counts;
        result = ons_expand2(m, &ons_op_less, places, ons_expand_reshape(m, ends, 2, counts_dims));
        if (h->mask == ONS_KEY_SPANS) {
            ons_value_id begins = ons_expand_slice(m, counts, 0, h->batch, 2 * h->batch);
            ons_value_id before = ons_expand2(m, &ons_op_less, places, ons_expand_reshape(m, begins, 2, counts_dims));
            result = ons_expand2(m, &ons_op_and, result, ons_expand1(m, &ons_op_not, before));
        }
    } else {
        result = ons_expand_cast(m, mask, ONS_BOOL);
    }
    return ons_expand_reshape(m, result, 4, mask_dims);
}

/* -inf where the key comes after the query. */
static ons_value_id causal_mask(ons_replacement *m, const ons_heads *h, ons_dtype dtype) {
    if (h->queries > 0 && h->keys > (1 << 28) / h->queries) {
        ons_builder_fail(m->builder, ons_node_error(m->operands, "a mask of %lld queries and %lld keys is too large",
                                                    (long long)h->queries, (long long)h->keys));
        return ONS_NONE;
    }
    double *words = ons_arena_allocate(m->builder->graph->arena, (size_t)(h->queries * h->keys) + 1, sizeof *words);
    if (words == NULL) {
        ons_builder_fail(m->builder, ons_status_out_of_memory());
        return ONS_NONE;
    }
    for (int64_t i = 0; i < h->queries * h->keys; ++i) words[i] = i % h->keys > i / h->keys ? -INFINITY : 0;
    ons_type type = ons_type_make(dtype, ons_shape_make(2, (int64_t[]){h->queries, h->keys}));
    return ons_build_constant(m->builder, m->operands->name, &type, words);
}

ons_value_id ons_heads_expand(ons_replacement *m, const ons_heads *h, const ons_value_id operands[static 3],
                              ons_value_id mask, ons_value_id bias) {
    static const int64_t swap[] = {0, 2, 1, 3};
    ons_builder *b = m->builder;
    ons_dtype dtype = ons_builder_type(b, operands[0]).dtype;
    int64_t flat[] = {h->batch, h->queries, h->heads * h->value_size};
    if (h->mask != ONS_NO_KEY_MASK)
        mask = ons_build(b, &ons_op_where,
                         ONS_IN(seen(m, h, mask), ons_build_scalar(b, dtype, 0), ons_build_scalar(b, dtype, h->filter)),
                         ONS_DEFAULTS);
    /* One node where it can: it takes no gradient to the bias, and values as long as keys. */
    if (bias == ONS_NONE && h->size == h->value_size && dtype == ONS_FLOAT32) {
        ons_value_id y =
            ons_build(b, &ons_op_attention, ONS_IN(operands[0], operands[1], operands[2], mask),
                      ONS_WITH(ONS_AT_FLOAT(ONS_ATTENTION_SCALE, h->scale), ONS_AT_INT(ONS_ATTENTION_CAUSAL, h->causal),
                               ONS_AT_INT(ONS_ATTENTION_QUERY_ORDER, ONS_POSITIONS_FIRST),
                               ONS_AT_INT(ONS_ATTENTION_KEY_ORDER, ONS_POSITIONS_FIRST),
                               ONS_AT_INT(ONS_ATTENTION_VALUE_ORDER, ONS_POSITIONS_FIRST),
                               ONS_AT_INT(ONS_ATTENTION_RESULT_ORDER, ONS_POSITIONS_FIRST)));
        return ons_expand_reshape(m, y, 3, flat);
    }
    ons_value_id heads[3];
    for (int i = 0; i < 3; ++i) heads[i] = ons_expand_transpose(m, operands[i], 4, swap);
    ons_value_id scores = ons_build(b, &ons_op_matmul_transposed, ONS_IN(heads[0], heads[1]),
                                    ONS_WITH(ONS_AT_INT(1, 1), ONS_AT_FLOAT(3, h->scale)));
    scores = ons_expand_sum(m, ons_expand_sum(m, scores, mask), bias);
    if (h->causal) scores = ons_expand_sum(m, scores, causal_mask(m, h, dtype));
    ons_value_id y = ons_expand2(m, &ons_op_matmul, ons_expand1(m, &ons_op_softmax, scores), heads[2]);
    return ons_expand_reshape(m, ons_expand_transpose(m, y, 4, swap), 3, flat);
}

/* ------------------------------------------------------------------------------------------------------------ words */

static bool is_seen(const ons_heads *h, const int64_t *mask, int64_t b, int64_t i, int64_t j) {
    switch (h->mask) {
    case ONS_KEY_COUNTS: return j < mask[b];
    case ONS_KEY_SPANS: return j < mask[b] && j >= mask[h->batch + b];
    case ONS_KEY_MASK: return mask[b * h->keys + j] != 0;
    case ONS_SCORE_MASK: return mask[(b * h->queries + i) * h->keys + j] != 0;
    default: return true;
    }
}

static double score(const ons_heads *h, const ons_heads_words *w, int64_t b, int64_t n, int64_t i, int64_t j) {
    if (h->causal && j > i) return -INFINITY;
    const double *q = w->query + ((b * h->queries + i) * h->heads + n) * h->size;
    const double *k = w->key + ((b * h->keys + j) * h->heads + n) * h->size;
    double sum = 0;
    for (int64_t d = 0; d < h->size; ++d) sum += q[d] * k[d] * h->scale;
    if (!is_seen(h, w->mask, b, i, j)) sum += h->filter;
    if (w->bias == NULL) return sum;
    int64_t row = w->bias_shape->dims[0] == 1 ? 0 : b, head = w->bias_shape->dims[1] == 1 ? 0 : n;
    return sum + w->bias[((row * w->bias_shape->dims[1] + head) * h->queries + i) * h->keys + j];
}

static void attend(const ons_heads *h, const ons_heads_words *w, int64_t b, int64_t n, int64_t i, double *y) {
    double largest = -INFINITY, sum = 0;
    for (int64_t j = 0; j < h->keys; ++j) largest = fmax(largest, score(h, w, b, n, i, j));
    for (int64_t d = 0; d < h->value_size; ++d) y[d] = 0;
    for (int64_t j = 0; j < h->keys; ++j) {
        double weight = exp(score(h, w, b, n, i, j) - largest);
        const double *v = w->value + ((b * h->keys + j) * h->heads + n) * h->value_size;
        sum += weight;
        for (int64_t d = 0; d < h->value_size; ++d) y[d] += weight * v[d];
    }
    for (int64_t d = 0; d < h->value_size; ++d) y[d] /= sum;
}

void ons_heads_reference(const ons_heads *h, const ons_heads_words *words, double *y) {
    for (int64_t b = 0; b < h->batch; ++b)
        for (int64_t i = 0; i < h->queries; ++i)
            for (int64_t n = 0; n < h->heads; ++n, y += h->value_size) attend(h, words, b, n, i, y);
}
