#include "kernels/attention/attention_operands.h"

#include <math.h>

#include "kernels/common/layout/index.h"

const uint8_t ons_attention_axes[ONS_ATTENTION_ORDERS][4] = {
    [ONS_HEADS_FIRST] = {0, 1, 2, 3},
    [ONS_POSITIONS_FIRST] = {0, 2, 1, 3},
    [ONS_SIZE_FIRST] = {0, 1, 3, 2},
    [ONS_POSITIONS_OUTER] = {1, 2, 0, 3},
};

/* Sizes of an operand by what they mean: batch, heads, positions, size. */
static void dims_of(const ons_shape *shape, ons_attention_order order, int64_t dims[4]) {
    for (int i = 0; i < 4; ++i) dims[i] = shape->dims[ons_attention_axes[order][i]];
}

ons_shape ons_attention_shape_of(const int64_t dims[4], ons_attention_order order) {
    ons_shape shape = {.rank = 4};
    for (int i = 0; i < 4; ++i) shape.dims[ons_attention_axes[order][i]] = dims[i];
    return shape;
}

ons_attention_steps ons_attention_steps_of(const int64_t dims[4], ons_attention_order order) {
    ons_shape shape = ons_attention_shape_of(dims, order);
    int64_t dense[ONS_RANK_MAX];
    const uint8_t *axes = ons_attention_axes[order];
    ons_dense_strides(&shape, dense);
    return (ons_attention_steps){dense[axes[0]], dense[axes[1]], dense[axes[2]], dense[axes[3]], 0};
}

ons_shape ons_attention_shape(const ons_attention *attention, int64_t positions, ons_attention_order order) {
    return ons_attention_shape_of((int64_t[]){attention->batch, attention->heads, positions, attention->size}, order);
}

void ons_attention_packed_steps(const int64_t dims[4], ons_attention_order order, ons_attention_steps steps[3]) {
    for (int i = 0; i < 3; ++i) {
        steps[i] = ons_attention_steps_of((int64_t[]){dims[0], 3 * dims[1], dims[2], dims[3]}, order);
        steps[i].start = i * dims[1] * dims[3];
    }
}

static ons_status *read_mask(const ons_operands *o, const ons_type *mask, ons_attention *a) {
    char text[ONS_TYPE_TEXT];
    const int64_t full[4] = {a->batch, a->heads, a->queries, a->keys};
    int64_t steps[4] = {0}, step = 1;
    const ons_shape *shape = &mask->shape;
    bool fits = shape->rank >= 1 && shape->rank <= 4 && mask->dtype == ONS_FLOAT32;
    for (uint32_t i = 1; fits && i <= shape->rank; ++i) {
        int64_t dim = shape->dims[shape->rank - i];
        fits = dim == full[4 - i] || dim == 1;
        steps[4 - i] = dim == 1 && i > 1 ? 0 : step;
        step *= dim;
    }
    if (!fits || shape->dims[shape->rank - 1] != a->keys)
        return ons_node_error(o, "mask %s does not fit %lld queries and %lld keys", ons_type_print(mask, text),
                              (long long)a->queries, (long long)a->keys);
    a->mask = (ons_attention_steps){steps[0], steps[1], steps[2], steps[3], 0};
    return NULL;
}

/* Heads of one operand out of all those that are packed together. */
static ons_status *unpack(const ons_operands *o, const int64_t orders[4], int64_t dims[3][4],
                          ons_attention_steps steps[3]) {
    bool fits = orders[0] == ONS_POSITIONS_FIRST || orders[0] == ONS_POSITIONS_OUTER;
    for (int i = 0; i < 3; ++i) {
        if (!fits || orders[i] != orders[0] || dims[i][1] % 3 != 0 || dims[i][2] != dims[0][2])
            return ons_node_error(o, "packed operands have one order, heads and size last, and three times the heads");
        dims[i][1] /= 3;
    }
    ons_attention_packed_steps(dims[0], (ons_attention_order)orders[0], steps);
    return NULL;
}

ons_status *ons_attention_of(const ons_operands *o, const ons_type *query, const ons_type *key, const ons_type *value,
                             const ons_type *mask, const ons_type *kept, ons_attention *attention) {
    const ons_type *operands[3] = {query, key, value};
    int64_t dims[3][4], orders[4];
    for (int i = 0; i < 4; ++i) {
        orders[i] = ons_attribute_int(o, ONS_ATTENTION_QUERY_ORDER + i);
        if (orders[i] < 0 || orders[i] >= ONS_ATTENTION_ORDERS || (orders[i] == ONS_SIZE_FIRST && i != 1))
            return ons_node_error(o, "operand %d has no order %lld", i, (long long)orders[i]);
    }
    for (int i = 0; i < 3; ++i) {
        char text[ONS_TYPE_TEXT];
        if (!ons_dtype_is_float(operands[i]->dtype) || operands[i]->shape.rank != 4)
            return ons_node_error(o, "needs float operands of rank 4, not %s", ons_type_print(operands[i], text));
        dims_of(&operands[i]->shape, (ons_attention_order)orders[i], dims[i]);
    }
    for (int i = 1; i < 3; ++i)
        if (dims[i][0] != dims[0][0] || dims[i][1] != dims[0][1] || dims[i][2] != dims[1][2] ||
            dims[i][3] != dims[0][3])
            return ons_node_error(o, "shapes of queries, keys and values do not fit together");
    ons_attention_steps steps[3];
    for (int i = 0; i < 3; ++i) steps[i] = ons_attention_steps_of(dims[i], (ons_attention_order)orders[i]);
    bool packed = ons_attribute_int(o, ONS_ATTENTION_PACKED) != 0;
    if (packed) ONS_TRY(unpack(o, orders, dims, steps));
    *attention = (ons_attention){
        .batch = dims[0][0],
        .heads = dims[0][1],
        .queries = dims[0][2],
        .keys = dims[1][2],
        .size = dims[0][3],
        .query = steps[0],
        .key = steps[1],
        .value = steps[2],
        .result = ons_attention_steps_of(dims[0], (ons_attention_order)orders[3]),
        .causal = ons_attribute_int(o, ONS_ATTENTION_CAUSAL) != 0,
        .guard = ons_attribute_int(o, ONS_ATTENTION_GUARD) != 0,
        .chosen = ons_attribute_int(o, ONS_ATTENTION_CHOSEN) != 0,
        .has_mask = mask->dtype != ONS_NO_DTYPE,
        .has_kept = kept->dtype != ONS_NO_DTYPE,
        .packed = packed,
        .keys_transposed = orders[1] == ONS_SIZE_FIRST,
        .scale = (float)ons_attribute_float(o, ONS_ATTENTION_SCALE),
    };
    double ratio = ons_attribute_float(o, ONS_ATTENTION_RATIO);
    ons_shape pairs =
        ons_shape_make(4, (int64_t[]){attention->batch, attention->heads, attention->queries, attention->keys});
    attention->kept_scale = ratio < 1 ? (float)(1 / (1 - ratio)) : 0;
    if (!(ratio >= 0 && ratio <= 1) ||
        (attention->has_kept && (kept->dtype != ONS_BOOL || !ons_shape_equal(&kept->shape, &pairs))))
        return ons_node_error(o, "what is kept must be a boolean for every pair, and the ratio from 0 to 1");
    if (!(attention->scale > 0)) return ons_node_error(o, "scale must be above 0, not %g", attention->scale);
    return attention->has_mask ? read_mask(o, mask, attention) : NULL;
}

double ons_attention_bytes(const ons_operands *o, uint32_t query) {
    double repeated =
        ons_attribute_int(o, ONS_ATTENTION_PACKED) == 0 ? 0 : 2 * (double)ons_type_dense_bytes(&o->inputs[query]);
    return ons_operand_bytes(o) - repeated;
}

double ons_attention_pairs(const ons_attention *a) {
    double pairs = 0;
    for (int64_t i = 0; i < a->queries; ++i) pairs += (double)ons_attention_keys_seen(a, i + 1);
    return pairs * (double)(a->batch * a->heads);
}

double ons_attention_score(const ons_attention *a, const double *query, const double *key, const double *mask,
                           int64_t batch, int64_t head, int64_t i, int64_t j) {
    if (a->causal && j > i) return -INFINITY;
    query += ons_attention_offset(&a->query, batch, head) + i * a->query.position;
    key += ons_attention_offset(&a->key, batch, head) + j * a->key.position;
    double sum = 0;
    for (int64_t d = 0; d < a->size; ++d) sum += query[d * a->query.size] * key[d * a->key.size];
    sum *= a->scale;
    if (a->has_mask) sum += mask[ons_attention_offset(&a->mask, batch, head) + i * a->mask.position + j * a->mask.size];
    return sum;
}
