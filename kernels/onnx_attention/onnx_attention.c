/* Attention of opset 23: softmax(scale · Q Kᵀ + masks) V with heads that share keys, a cache of past keys and values,
 * a soft cap of the scores, windows, and the scores as an output. Binding replaces it by nodes, which become the fused
 * operator wherever that serves. */
#include <math.h>
#include <stdlib.h>

#include "kernels/onnx_attention/sizes.h"

static ons_status *onnx_attention_infer(ons_operands *o) {
    ons_onnx_attention a;
    ONS_TRY(ons_onnx_attention_of(o, &a));
    const int64_t shapes[][4] = {{a.batch, a.heads, a.queries, a.value_size},
                                 {a.batch, a.key_heads, a.keys, a.size},
                                 {a.batch, a.key_heads, a.keys, a.value_size},
                                 {a.batch, a.heads, a.queries, a.keys}};
    for (uint32_t i = 0; i < o->output_count && i < 4; ++i)
        o->outputs[i] = ons_type_make(o->inputs[i == ONS_ONNX_PRESENT_KEY     ? ONS_ONNX_KEY
                                                : i == ONS_ONNX_PRESENT_VALUE ? ONS_ONNX_VALUE
                                                                              : 0]
                                          .dtype,
                                      ons_shape_make(4, shapes[i]));
    if (a.rank_3) o->outputs[0].shape = ons_shape_make(3, (int64_t[]){a.batch, a.queries, a.heads * a.value_size});
    return NULL;
}

/* For every pair of query and key two products, and 5 operations of softmax. */
static ons_cost onnx_attention_cost(const ons_operands *o) {
    ons_onnx_attention a;
    ons_resolved(ons_onnx_attention_of(o, &a));
    double pairs = (double)(a.batch * a.heads * a.queries) * (double)a.keys;
    return (ons_cost){pairs * (2 * (double)(a.size + a.value_size) + 5), ons_operand_bytes(o)};
}

/* The element of an operand of `heads` heads in either rank. */
static double element(const ons_onnx_attention *a, const double *x, int64_t heads, int64_t positions, int64_t size,
                      int64_t batch, int64_t head, int64_t position, int64_t d) {
    return a->rank_3 ? x[((batch * positions + position) * heads + head) * size + d]
                     : x[((batch * heads + head) * positions + position) * size + d];
}

/* Of keys or values: from the past or new. `first`: 0 for keys, 1 for values. */
static double cached(const ons_onnx_attention *a, const void *const *inputs, int first, int64_t batch, int64_t head,
                     int64_t j, int64_t d) {
    int64_t size = first == 0 ? a->size : a->value_size;
    if (j < a->past)
        return ((
            const double *)inputs[ONS_ONNX_PAST_KEY + first])[((batch * a->key_heads + head) * a->past + j) * size + d];
    return element(a, inputs[ONS_ONNX_KEY + first], a->key_heads, a->new_keys, size, batch, head, j - a->past, d);
}

static double given_mask(const ons_operands *o, const ons_onnx_attention *a, const void *mask, int64_t batch,
                         int64_t head, int64_t i, int64_t j) {
    if (j >= a->mask_dims[3]) return -INFINITY;
    int64_t at = a->mask_dims[0] == 1 ? 0 : batch;
    at = at * a->mask_dims[1] + (a->mask_dims[1] == 1 ? 0 : head);
    at = (at * a->mask_dims[2] + (a->mask_dims[2] == 1 ? 0 : i)) * a->mask_dims[3] + j;
    if (o->inputs[ONS_ONNX_MASK].dtype == ONS_BOOL) return ((const int64_t *)mask)[at] != 0 ? 0 : -INFINITY;
    return ((const double *)mask)[at];
}

static double bias_of(const ons_operands *o, const ons_onnx_attention *a, const void *const *inputs, int64_t batch,
                      int64_t head, int64_t i, int64_t j) {
    double bias = a->has_mask ? given_mask(o, a, inputs[ONS_ONNX_MASK], batch, head, i, j) : 0;
    int64_t position = i + a->past;
    if (a->has_valid_keys) {
        int64_t valid = ((const int64_t *)inputs[ONS_ONNX_VALID_KEYS])[batch];
        if (j >= valid) return -INFINITY;
        position = i - a->queries + valid;
    }
    if ((a->causal && j > position) || (a->before >= 0 && position - j > a->before) ||
        (a->after >= 0 && j - position > a->after))
        return -INFINITY;
    return bias;
}

/* One row: scores of all keys by the rules, then what comes of them. `scores` has room for the row. */
static void reference_row(const ons_operands *o, const ons_onnx_attention *a, const void *const *inputs,
                          void *const *outputs, double *scores, int64_t batch, int64_t head, int64_t i) {
    int64_t shared = head / (a->heads / a->key_heads);
    double largest = -INFINITY, sum = 0;
    bool blind = true;
    double *shown = ons_has_output(o, ONS_ONNX_SCORES) ? outputs[ONS_ONNX_SCORES] : NULL;
    if (shown != NULL) shown += ((batch * a->heads + head) * a->queries + i) * a->keys;
    for (int64_t j = 0; j < a->keys; ++j) {
        double score = 0, bias = bias_of(o, a, inputs, batch, head, i, j);
        for (int64_t d = 0; d < a->size; ++d)
            score += element(a, inputs[ONS_ONNX_QUERY], a->heads, a->queries, a->size, batch, head, i, d) *
                     cached(a, inputs, 0, batch, shared, j, d);
        score *= a->scale;
        if (shown != NULL && a->scores_mode == ONS_SCORES_RAW) shown[j] = score;
        if (a->softcap > 0) score = a->softcap * tanh(score / a->softcap);
        if (shown != NULL && a->scores_mode == ONS_SCORES_CAPPED) shown[j] = score;
        scores[j] = score + bias;
        if (shown != NULL && a->scores_mode == ONS_SCORES_MASKED) shown[j] = scores[j];
        blind = blind && bias == -INFINITY;
        largest = fmax(largest, scores[j]);
    }
    for (int64_t j = 0; j < a->keys; ++j) sum += scores[j] = blind ? 0 : exp(scores[j] - largest);
    for (int64_t j = 0; j < a->keys; ++j) scores[j] = blind ? 0 : scores[j] / sum;
    for (int64_t j = 0; shown != NULL && a->scores_mode == ONS_SCORES_SOFTMAX && j < a->keys; ++j) shown[j] = scores[j];
    for (int64_t d = 0; d < a->value_size; ++d) {
        double y = 0;
        for (int64_t j = 0; j < a->keys; ++j) y += scores[j] * cached(a, inputs, 1, batch, shared, j, d);
        int64_t row =
            a->rank_3 ? (batch * a->queries + i) * a->heads + head : (batch * a->heads + head) * a->queries + i;
        ((double *)outputs[0])[row * a->value_size + d] = y;
    }
}

static void reference_present(const ons_operands *o, const ons_onnx_attention *a, const void *const *inputs,
                              void *const *outputs) {
    for (int first = 0; first < 2; ++first) {
        if (!ons_has_output(o, (uint32_t)(ONS_ONNX_PRESENT_KEY + first))) continue;
        double *out = outputs[ONS_ONNX_PRESENT_KEY + first];
        int64_t size = first == 0 ? a->size : a->value_size, count = a->batch * a->key_heads * a->keys * size;
        for (int64_t i = 0; i < count; ++i)
            out[i] = cached(a, inputs, first, i / (a->key_heads * a->keys * size), i / (a->keys * size) % a->key_heads,
                            i / size % a->keys, i % size);
    }
}

static void onnx_attention_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                     void *const *outputs) {
    ons_onnx_attention a;
    ons_resolved(ons_onnx_attention_of(o, &a));
    reference_present(o, &a, inputs, outputs);
    double *scores = calloc((size_t)a.keys + 1, sizeof *scores);
    for (int64_t row = 0; scores != NULL && row < a.batch * a.heads * a.queries; ++row)
        reference_row(o, &a, inputs, outputs, scores, row / (a.heads * a.queries), row / a.queries % a.heads,
                      row % a.queries);
    free(scores);
}

ONS_DEFINE_EXPANSION(
    onnx_attention, "Attention", ONS_ONNX(23, ONS_NEWEST), ONS_ARITY(3, 7, 1, 4),
    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("is_causal", 0), ONS_INT_ATTRIBUTE("kv_num_heads", 0),
                   ONS_INT_ATTRIBUTE("left_window_size", -1), ONS_INT_ATTRIBUTE("q_num_heads", 0),
                   ONS_INT_ATTRIBUTE("qk_matmul_output_mode", 0), ONS_INT_ATTRIBUTE("right_window_size", -1),
                   ONS_OPTIONAL_ATTRIBUTE("scale", ONS_ATTRIBUTE_FLOAT), ONS_FLOAT_ATTRIBUTE("softcap", 0),
                   ONS_OPTIONAL_ATTRIBUTE("softmax_precision", ONS_ATTRIBUTE_INT)),
    onnx_attention_infer, onnx_attention_cost, ONS_ALL_INPUTS, ons_onnx_attention_expand, onnx_attention_reference);
