/* com.microsoft.GroupQueryAttention of whole sequences, as it stands in language models exported for generation: heads
 * of queries share heads of keys, every position sees itself and those before it, and the rotary embedding may be
 * inside. Keys of the past are for generating; where they are given, there must be none of them (a length of 0). What
 * ends a sequence (seqlens_k) hides nothing then: no position sees a later one, and those past the end are nobody's. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/common/indexing/indexing.h"
#include "kernels/common/operator/expand.h"

enum { QUERY, KEY, VALUE, PAST_KEY, PAST_VALUE, LENGTHS, TOTAL, COSINES, SINES, PLACES, SCORE_BIAS, SINKS };

enum { ROTATES, KEY_HEADS, WINDOW, HEADS, INTERLEAVED, SCALE, SMOOTH, SOFTCAP };

typedef struct sizes {
    int64_t batch, positions, heads, key_heads, size, half; /* `half`: pairs that are rotated */
    int64_t window;                                         /* positions that are seen; -1: all before */
    double scale, softcap;
    bool packed, rotates, interleaved;
} sizes;

static ons_status *resolve_heads(const ons_operands *o, sizes *s) {
    const ons_shape *q = &o->inputs[QUERY].shape;
    s->heads = ons_attribute_int(o, HEADS);
    s->key_heads = ons_attribute_int(o, KEY_HEADS);
    s->packed = !ons_has_input(o, KEY);
    if (s->heads < 1 || s->key_heads < 1 || s->heads % s->key_heads != 0 || s->heads > INT32_MAX || q->rank != 3 ||
        s->packed == ons_has_input(o, VALUE))
        return ons_node_error(o, "%lld heads of queries and %lld of keys do not fit the operands", (long long)s->heads,
                              (long long)s->key_heads);
    int64_t all = s->packed ? s->heads + 2 * s->key_heads : s->heads;
    s->batch = q->dims[0];
    s->positions = q->dims[1];
    s->size = q->dims[2] / all;
    bool fits = s->size > 0 && s->size * all == q->dims[2];
    ons_shape keys = ons_shape_make(3, (int64_t[]){s->batch, s->positions, s->key_heads * s->size});
    for (uint32_t i = KEY; i <= VALUE && !s->packed; ++i)
        fits = fits && ons_shape_equal(&o->inputs[i].shape, &keys) && o->inputs[i].dtype == o->inputs[QUERY].dtype;
    if (!fits) return ons_node_error(o, "queries, keys and values do not fit together");
    return NULL;
}

static ons_status *resolve_rotation(const ons_operands *o, sizes *s) {
    s->rotates = ons_attribute_int(o, ROTATES) != 0;
    s->interleaved = ons_attribute_int(o, INTERLEAVED) != 0;
    if (!s->rotates) return NULL;
    const ons_type *table = &o->inputs[COSINES];
    if (!ons_has_input(o, COSINES) || !ons_has_input(o, SINES) || table->shape.rank != 2 ||
        !ons_type_equal(table, &o->inputs[SINES]) || table->dtype != o->inputs[QUERY].dtype)
        return ons_node_error(o, "do_rotary needs tables of cosines and sines");
    s->half = table->shape.dims[1];
    if (s->half < 1 || s->half > s->size / 2 || (!ons_has_input(o, PLACES) && table->shape.dims[0] < s->positions))
        return ons_node_error(o, "tables of %lld positions and %lld pairs do not fit", (long long)table->shape.dims[0],
                              (long long)s->half);
    if (!ons_has_input(o, PLACES)) return NULL;
    ons_shape places = ons_shape_make(2, (int64_t[]){s->batch, s->positions});
    if (!ons_shape_equal(&o->inputs[PLACES].shape, &places))
        return ons_node_error(o, "the positions must be [batch, positions]");
    return ons_check_indices(o, PLACES, table->shape.dims[0]);
}

static ons_status *resolve_sizes(const ons_operands *o, sizes *s) {
    *s = (sizes){.window = ons_attribute_int(o, WINDOW), .softcap = ons_attribute_float(o, SOFTCAP)};
    ONS_TRY(ons_need_float(o, QUERY));
    for (uint32_t i = PAST_KEY; i <= PAST_VALUE; ++i)
        if (ons_has_input(o, i) && ons_elements(&o->inputs[i]) > 0)
            return ons_node_error(o, "keys and values of the past are for generating text; train with a past of length "
                                     "0 (--dim), or export the model without them");
    if (ons_has_input(o, SINKS) || ons_attribute_int(o, SMOOTH) > 0)
        return ons_node_error(o, "a sink beside the keys is not supported");
    if (s->window < -1 || s->window == 0 || !(s->softcap >= 0))
        return ons_node_error(o, "a window of %lld positions and a soft cap of %g", (long long)s->window, s->softcap);
    ONS_TRY(resolve_heads(o, s));
    double scale = ons_attribute_float(o, SCALE);
    s->scale = scale != 0 ? scale : 1 / sqrt((double)s->size);
    if (!ons_has_input(o, SCORE_BIAS)) return resolve_rotation(o, s);
    const ons_type *bias = &o->inputs[SCORE_BIAS];
    const int64_t *dims = bias->shape.dims;
    if (bias->dtype != o->inputs[QUERY].dtype || bias->shape.rank != 4 || (dims[0] != 1 && dims[0] != s->batch) ||
        (dims[1] != 1 && dims[1] != s->heads) || dims[2] != s->positions || dims[3] != s->positions)
        return ons_node_error(o, "the bias of the scores does not fit");
    return resolve_rotation(o, s);
}

static ons_status *microsoft_group_query_attention_infer(ons_operands *o) {
    sizes s;
    ONS_TRY(resolve_sizes(o, &s));
    int64_t dims[] = {s.batch, s.positions, s.heads * s.size};
    int64_t present[] = {s.batch, s.key_heads, s.positions, s.size};
    for (uint32_t i = 0; i < o->output_count && i < 3; ++i)
        o->outputs[i] =
            ons_type_make(o->inputs[QUERY].dtype, i == 0 ? ons_shape_make(3, dims) : ons_shape_make(4, present));
    return NULL;
}

/* For every pair of query and key two products, and 5 operations of softmax. */
static ons_cost microsoft_group_query_attention_cost(const ons_operands *o) {
    sizes s;
    ons_resolved(resolve_sizes(o, &s));
    double pairs = (double)(s.batch * s.heads * s.positions) * (double)s.positions;
    return (ons_cost){pairs * (4 * (double)s.size + 5), ons_operand_bytes(o)};
}

static ons_status *rotate(ons_replacement *m, const sizes *s, int64_t heads, ons_value_id *x) {
    int64_t one = 1;
    if (!s->rotates) return NULL;
    ons_value_id places = ons_has_input(m->operands, PLACES) ? ons_expand_cast(m, m->inputs[PLACES], ONS_INT64)
                                                             : ons_expand_range(m, 0, 1, 1, &one);
    return ons_expand_other(
        m, &ons_op_microsoft_rotary_embedding, ONS_IN(*x, places, m->inputs[COSINES], m->inputs[SINES]),
        ONS_WITH(ONS_AT_INT(0, s->interleaved), ONS_AT_INT(1, heads), ONS_AT_INT(2, 2 * s->half)), 1, x);
}

static ons_status *microsoft_group_query_attention_expand(ons_replacement *m) {
    sizes s;
    ons_resolved(resolve_sizes(m->operands, &s));
    ons_value_id q = m->inputs[QUERY], k, v, made[3];
    int64_t first = s.heads * s.size, second = first + s.key_heads * s.size, end = second + s.key_heads * s.size;
    k = s.packed ? ons_expand_slice(m, q, 2, first, second) : m->inputs[KEY];
    v = s.packed ? ons_expand_slice(m, q, 2, second, end) : m->inputs[VALUE];
    q = s.packed ? ons_expand_slice(m, q, 2, 0, first) : q;
    ONS_TRY(rotate(m, &s, s.heads, &q));
    ONS_TRY(rotate(m, &s, s.key_heads, &k));
    ONS_TRY(ons_expand_other(m, &ons_op_onnx_attention, ONS_IN(q, k, v, ons_expand_input(m, SCORE_BIAS)),
                             ONS_WITH(ONS_AT_INT(0, 1), ONS_AT_INT(1, s.key_heads),
                                      ONS_AT_INT(2, s.window < 0 ? -1 : s.window - 1), ONS_AT_INT(3, s.heads),
                                      ONS_AT_FLOAT(6, s.scale), ONS_AT_FLOAT(7, s.softcap)),
                             3, made));
    for (uint32_t i = 1; i < 3 && i < m->operands->output_count; ++i) m->outputs[i] = made[i];
    return ons_expand_finish(m, made[0]);
}

/* Queries, keys (both rotated) or values as [batch, positions, heads, size]; NULL where memory is short. */
static double *part_of(const ons_operands *o, const sizes *s, const ons_step *step, const void *const *inputs,
                       int part) {
    int64_t heads = part == QUERY ? s->heads : s->key_heads, row = heads * s->size, count = s->batch * s->positions;
    int64_t stride = s->packed ? (s->heads + 2 * s->key_heads) * s->size : row;
    int64_t start = !s->packed || part == QUERY ? 0 : (s->heads + (part - KEY) * s->key_heads) * s->size;
    const double *from = (const double *)inputs[s->packed ? QUERY : part] + start;
    double *to = malloc(((size_t)(count * row) + 1) * sizeof *to);
    for (int64_t p = 0; to != NULL && p < count; ++p) {
        memcpy(to + p * row, from + p * stride, (size_t)row * sizeof *to);
        if (!s->rotates || part == VALUE) continue;
        int64_t place = ons_has_input(o, PLACES) ? ((const int64_t *)inputs[PLACES])[p] : p % s->positions;
        place = ons_reference_index(step, p, place, o->inputs[COSINES].shape.dims[0]);
        for (int64_t i = 0; place >= 0 && i < heads * s->half; ++i) {
            int64_t pair = i % s->half, head = p * row + i / s->half * s->size;
            int64_t one = head + (s->interleaved ? 2 * pair : pair), other = one + (s->interleaved ? 1 : s->half);
            double c = ((const double *)inputs[COSINES])[place * s->half + pair];
            double n = ((const double *)inputs[SINES])[place * s->half + pair], a = to[one], b = to[other];
            to[one] = a * c - b * n;
            to[other] = b * c + a * n;
        }
    }
    return to;
}

/* What position i of one head sees. */
static void reference_row(const ons_operands *o, const sizes *s, const void *const *inputs, double *const *parts,
                          int64_t b, int64_t h, int64_t i, double *y, double *weights) {
    int64_t shared = h / (s->heads / s->key_heads), first = s->window < 0 || i < s->window ? 0 : i - s->window + 1;
    const ons_shape *dims = &o->inputs[SCORE_BIAS].shape;
    double most = -INFINITY, sum = 0;
    for (int64_t j = first; j <= i; ++j) {
        const double *q = parts[QUERY] + ((b * s->positions + i) * s->heads + h) * s->size;
        const double *k = parts[KEY] + ((b * s->positions + j) * s->key_heads + shared) * s->size;
        double score = 0;
        for (int64_t d = 0; d < s->size; ++d) score += q[d] * k[d];
        score *= s->scale;
        if (s->softcap > 0) score = s->softcap * tanh(score / s->softcap);
        if (ons_has_input(o, SCORE_BIAS)) {
            int64_t at = (dims->dims[0] == 1 ? 0 : b) * dims->dims[1] + (dims->dims[1] == 1 ? 0 : h);
            score += ((const double *)inputs[SCORE_BIAS])[(at * s->positions + i) * s->positions + j];
        }
        weights[j] = score;
        most = fmax(most, score);
    }
    for (int64_t j = first; j <= i; ++j) sum += weights[j] = exp(weights[j] - most);
    for (int64_t d = 0; d < s->size; ++d) {
        y[d] = 0;
        for (int64_t j = first; j <= i; ++j)
            y[d] += weights[j] / sum * parts[VALUE][((b * s->positions + j) * s->key_heads + shared) * s->size + d];
    }
}

static void microsoft_group_query_attention_reference(const ons_operands *o, const ons_step *step,
                                                      const void *const *inputs, void *const *outputs) {
    sizes s;
    ons_resolved(resolve_sizes(o, &s));
    double *parts[3], *weights = malloc(((size_t)s.positions + 1) * sizeof *weights);
    for (int i = 0; i < 3; ++i) parts[i] = part_of(o, &s, step, inputs, i);
    bool whole = parts[0] != NULL && parts[1] != NULL && parts[2] != NULL && weights != NULL;
    whole = whole && s.size > 0 && s.positions > 0 && s.heads > 0 && s.key_heads > 0;
    for (int64_t row = 0; whole && row < s.batch * s.positions * s.heads; ++row)
        reference_row(o, &s, inputs, parts, row / s.heads / s.positions, row % s.heads, row / s.heads % s.positions,
                      (double *)outputs[0] + row * s.size, weights);
    for (uint32_t i = 1; whole && i < 3 && i < o->output_count; ++i)
        for (int64_t e = 0, n = ons_elements(&o->outputs[i]); e < n; ++e) {
            int64_t d = e % s.size, p = e / s.size % s.positions, h = e / s.size / s.positions % s.key_heads;
            int64_t b = e / s.size / s.positions / s.key_heads;
            ((double *)outputs[i])[e] = parts[i][((b * s.positions + p) * s.key_heads + h) * s.size + d];
        }
    for (int i = 0; i < 3; ++i) free(parts[i]);
    free(weights);
}

ONS_DEFINE_EXPANSION(microsoft_group_query_attention, "GroupQueryAttention", ONS_MICROSOFT, ONS_ARITY(1, 12, 1, 3),
                     ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("do_rotary", 0),
                                    ONS_REQUIRED_ATTRIBUTE("kv_num_heads", ONS_ATTRIBUTE_INT),
                                    ONS_INT_ATTRIBUTE("local_window_size", -1),
                                    ONS_REQUIRED_ATTRIBUTE("num_heads", ONS_ATTRIBUTE_INT),
                                    ONS_INT_ATTRIBUTE("rotary_interleaved", 0), ONS_FLOAT_ATTRIBUTE("scale", 0),
                                    ONS_INT_ATTRIBUTE("smooth_softmax", -1), ONS_FLOAT_ATTRIBUTE("softcap", 0)),
                     microsoft_group_query_attention_infer, microsoft_group_query_attention_cost,
                     ONS_INPUT_BIT(QUERY) | ONS_INPUT_BIT(KEY) | ONS_INPUT_BIT(VALUE) | ONS_INPUT_BIT(COSINES) |
                         ONS_INPUT_BIT(SINES) | ONS_INPUT_BIT(SCORE_BIAS),
                     microsoft_group_query_attention_expand, microsoft_group_query_attention_reference);
