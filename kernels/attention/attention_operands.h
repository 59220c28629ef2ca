/* What Attention and its gradient share: softmax(scale · Q Kᵀ + mask) V for every head of every sample.
 *
 * Logically all operands are [batch, heads, positions, size]; each comes in one of several orders, so that the
 * transposes that exporters put around attention need not be carried out.
 */
#ifndef ONSTAGE_KERNELS_ATTENTION_ATTENTION_OPERANDS_H
#define ONSTAGE_KERNELS_ATTENTION_ATTENTION_OPERANDS_H

#include <string.h>

#include "kernels/common/gemm/small_gemm.h"
#include "kernels/common/operator/kernel.h"

typedef enum ons_attention_order {
    ONS_HEADS_FIRST,     /* [batch, heads, positions, size] */
    ONS_POSITIONS_FIRST, /* [batch, positions, heads, size] */
    ONS_SIZE_FIRST,      /* [batch, heads, size, positions]: keys alone */
    ONS_POSITIONS_OUTER, /* [positions, batch, heads, size]: layers that take sequences time first */
    ONS_ATTENTION_ORDERS,
} ons_attention_order;

/* Where batch, heads, positions and size are among an operand's axes. */
extern const uint8_t ons_attention_axes[ONS_ATTENTION_ORDERS][4];

/* Attributes by position, of both operators. `causal`: position t sees no key after t. `guard`: a row without any key
 * to see gives zeros, not NaN. `chosen`: what the mask hides (ONS_ATTENTION_HIDDEN and less) was put in the place of
 * scores, which have no gradient there, not even in a row that is hidden whole. `ratio`: of the probabilities that the
 * operand `kept` drops; the others are divided by what is left. `packed`: query, key and value are one and the same
 * operand, whose last axes are heads and size, of three times as many heads - those of the queries, then those of the
 * keys, then those of the values - as one layer makes all three; and so is their gradient, which is output 0. */
enum {
    ONS_ATTENTION_SCALE,
    ONS_ATTENTION_CAUSAL,
    ONS_ATTENTION_GUARD,
    ONS_ATTENTION_QUERY_ORDER,
    ONS_ATTENTION_KEY_ORDER,
    ONS_ATTENTION_VALUE_ORDER,
    ONS_ATTENTION_RESULT_ORDER,
    ONS_ATTENTION_RATIO,
    ONS_ATTENTION_PACKED,
    ONS_ATTENTION_CHOSEN,
    ONS_ATTENTION_ATTRIBUTE_COUNT,
};
#define ONS_ATTENTION_ATTRIBUTES                                                                                       \
    ONS_ATTRIBUTES(ONS_FLOAT_ATTRIBUTE("scale", 1), ONS_INT_ATTRIBUTE("causal", 0), ONS_INT_ATTRIBUTE("guard", 0),     \
                   ONS_INT_ATTRIBUTE("query_order", 0), ONS_INT_ATTRIBUTE("key_order", 0),                             \
                   ONS_INT_ATTRIBUTE("value_order", 0), ONS_INT_ATTRIBUTE("result_order", 0),                          \
                   ONS_FLOAT_ATTRIBUTE("ratio", 0), ONS_INT_ATTRIBUTE("packed", 0), ONS_INT_ATTRIBUTE("chosen", 0))

/* A mask of this size hides a key: a score is lost in it. */
#define ONS_ATTENTION_HIDDEN (-1e8f)

/* Where the matrix of one head lies in an operand: element (position, i) at start + batch · batch_step +
 * head · head_step + position · position_step + i · size_step. */
typedef struct ons_attention_steps {
    int64_t batch, head, position, size, start;
} ons_attention_steps;

typedef struct ons_attention {
    int64_t batch, heads, queries, keys, size;
    ons_attention_steps query, key, value, result, mask; /* the mask's keys are neighbours */
    bool causal, guard, has_mask, has_kept, keys_transposed, packed, chosen;
    float scale, kept_scale;
} ons_attention;

/* From the types of query, key, value and (dtype ONS_NO_DTYPE: none) mask and kept
 * (bool [batch, heads, queries, keys]). Fails with the node's name where they do not
 * fit. */
ons_status *ons_attention_of(const ons_operands *o, const ons_type *query, const ons_type *key, const ons_type *value,
                             const ons_type *mask, const ons_type *kept, ons_attention *attention);

/* Of the operand with so many [batch, heads, positions, size] all by itself. */
ons_attention_steps ons_attention_steps_of(const int64_t dims[ONS_AT_LEAST(4)], ons_attention_order order);

/* The steps of queries, keys and values of these dims in one packed operand. */
void ons_attention_packed_steps(const int64_t dims[ONS_AT_LEAST(4)], ons_attention_order order,
                                ons_attention_steps steps[ONS_AT_LEAST(3)]);

/* [batch, heads, positions, size] in an order. */
ons_shape ons_attention_shape_of(const int64_t dims[ONS_AT_LEAST(4)], ons_attention_order order);
ons_shape ons_attention_shape(const ons_attention *attention, int64_t positions, ons_attention_order order);

static inline int64_t ons_attention_offset(const ons_attention_steps *steps, int64_t batch, int64_t head) {
    return steps->start + batch * steps->batch + head * steps->head;
}

/* Which output of the gradient has that of operand 0 to 2. */
static inline int ons_attention_gradient_output(const ons_attention *attention, int operand) {
    return attention->packed ? 0 : operand;
}

/* Those of all operands, of which query is number `query`; what is packed counts once. */
double ons_attention_bytes(const ons_operands *o, uint32_t query);

/* Pairs of query and key that are looked at, over all heads. */
double ons_attention_pairs(const ons_attention *attention);

/* The score of one pair, in double, for references; -inf where the key is not seen. `x` are the operands' words. */
double ons_attention_score(const ons_attention *attention, const double *query, const double *key, const double *mask,
                           int64_t batch, int64_t head, int64_t i, int64_t j);

/* Whether the probability of a pair is kept: 0, or the factor that it gets. For references; `kept` NULL: none drops. */
static inline double ons_attention_kept(const ons_attention *a, const int64_t *kept, int64_t batch, int64_t head,
                                        int64_t i, int64_t j) {
    if (kept == NULL) return 1;
    return kept[((batch * a->heads + head) * a->queries + i) * a->keys + j] != 0 ? (double)a->kept_scale : 0;
}

/* Drops in place: x[j] × factor where kept[j], else 0. */
static inline void ons_attention_drop(float *x, const uint8_t *kept, float factor, int64_t count) {
#pragma omp simd
    for (int64_t j = 0; j < count; ++j) x[j] = kept[j] != 0 ? x[j] * factor : 0.0f;
}

/* Queries are worked on in blocks of so many. */
enum { ONS_ATTENTION_BLOCK = 32 };

/* Floats in a cache line, of which scratch memory has whole ones. */
enum { ONS_ATTENTION_LINE = 16 };

/* Floats from row to row of scratch matrices with so many columns: whole cache lines, an odd number of them, since rows
 * that lie a power of two apart share few places in the cache. */
static inline int64_t ons_attention_stride(int64_t columns) {
    int64_t lines = (columns + ONS_ATTENTION_LINE - 1) / ONS_ATTENTION_LINE;
    return (lines / 2 * 2 + 1) * ONS_ATTENTION_LINE;
}

/* One head's matrix of an operand in row-major order of positions (or, transposed keys, of size). */
static inline ons_small_matrix ons_attention_matrix(const float *data, const ons_attention_steps *steps, int64_t batch,
                                                    int64_t head) {
    return (ons_small_matrix){(float *)data + ons_attention_offset(steps, batch, head),
                              steps->size == 1 ? steps->position : steps->size};
}

/* Whether a head's rows lie so far apart that they share few places in a cache, since heads, and perhaps samples, lie
 * between each other: then they are worked on where they have been copied close together, unless they are few, or a
 * copy of `rows` of them would not stay in a cache. */
static inline bool ons_attention_apart(const ons_attention *a, int64_t rows) {
    enum { FAR = 4 * 1024, MOST = 256 * 1024 }; /* floats */
    int64_t farthest = a->query.position > a->key.position ? a->query.position : a->key.position;
    farthest = farthest > a->value.position ? farthest : a->value.position;
    farthest = farthest > a->result.position ? farthest : a->result.position;
    return farthest > FAR && farthest > a->size && a->queries >= ONS_ATTENTION_BLOCK &&
           rows * ons_attention_stride(a->size) <= MOST;
}

static inline void ons_attention_copy_rows(ons_small_matrix from, ons_small_matrix to, int64_t rows, int64_t size) {
    for (int64_t i = 0; size > 0 && i < rows; ++i)
        memcpy(to.data + i * to.stride, from.data + i * from.stride, (size_t)size * sizeof(float));
}

/* Keys that a block of queries which ends before `end` can see. */
static inline int64_t ons_attention_keys_seen(const ons_attention *attention, int64_t end) {
    return attention->causal && end < attention->keys ? end : attention->keys;
}

#endif
