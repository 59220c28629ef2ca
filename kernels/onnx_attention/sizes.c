#include "kernels/onnx_attention/sizes.h"

#include <math.h>

static ons_status *misfit(const ons_operands *o) {
    return ons_node_error(o, "queries, keys and values do not fit together");
}

/* [batch, heads, positions, size] of an operand in either rank. */
static bool split_heads(const ons_shape *shape, int64_t heads, int64_t dims[static 4]) {
    if (shape->rank == 4) {
        for (int i = 0; i < 4; ++i) dims[i] = shape->dims[i];
        return dims[1] > 0;
    }
    if (shape->rank != 3 || heads < 1 || shape->dims[2] % heads != 0) return false;
    dims[0] = shape->dims[0];
    dims[1] = heads;
    dims[2] = shape->dims[1];
    dims[3] = shape->dims[2] / heads;
    return true;
}

static ons_status *read_sizes(const ons_operands *o, ons_onnx_attention *a) {
    int64_t q[4], k[4], v[4];
    const ons_type *in = o->inputs;
    ONS_TRY(ons_need_float(o, ONS_ONNX_QUERY));
    ONS_TRY(ons_need_float(o, ONS_ONNX_VALUE));
    uint32_t rank = in[ONS_ONNX_QUERY].shape.rank;
    if (in[ONS_ONNX_KEY].dtype != in[ONS_ONNX_QUERY].dtype || in[ONS_ONNX_KEY].shape.rank != rank ||
        in[ONS_ONNX_VALUE].shape.rank != rank ||
        !split_heads(&in[ONS_ONNX_QUERY].shape, ons_attribute_int(o, ONS_ONNX_QUERY_HEADS), q) ||
        !split_heads(&in[ONS_ONNX_KEY].shape, ons_attribute_int(o, ONS_ONNX_KEY_HEADS), k) ||
        !split_heads(&in[ONS_ONNX_VALUE].shape, ons_attribute_int(o, ONS_ONNX_KEY_HEADS), v))
        return misfit(o);
    if (q[0] != k[0] || q[0] != v[0] || k[1] != v[1] || q[1] % k[1] != 0 || k[2] != v[2] || q[3] != k[3])
        return misfit(o);
    a->batch = q[0];
    a->heads = q[1];
    a->queries = q[2];
    a->size = q[3];
    a->key_heads = k[1];
    a->new_keys = a->keys = k[2];
    a->value_size = v[3];
    a->rank_3 = rank == 3;
    return NULL;
}

static ons_status *read_past(const ons_operands *o, ons_onnx_attention *a) {
    bool has = ons_has_input(o, ONS_ONNX_PAST_KEY);
    if (has != ons_has_input(o, ONS_ONNX_PAST_VALUE))
        return ons_node_error(o, "past keys and past values must come together");
    if (!has) return NULL;
    const ons_type *key = &o->inputs[ONS_ONNX_PAST_KEY], *value = &o->inputs[ONS_ONNX_PAST_VALUE];
    a->past = key->shape.rank == 4 ? key->shape.dims[2] : 0;
    ons_shape keys = ons_shape_make(4, (int64_t[]){a->batch, a->key_heads, a->past, a->size});
    ons_shape values = ons_shape_make(4, (int64_t[]){a->batch, a->key_heads, a->past, a->value_size});
    if (!ons_shape_equal(&key->shape, &keys) || !ons_shape_equal(&value->shape, &values) ||
        key->dtype != o->inputs[ONS_ONNX_KEY].dtype || value->dtype != o->inputs[ONS_ONNX_VALUE].dtype)
        return ons_node_error(o, "the past keys and values do not fit the new ones");
    a->keys += a->past;
    return NULL;
}

static ons_status *read_mask(const ons_operands *o, ons_onnx_attention *a) {
    if (!ons_has_input(o, ONS_ONNX_MASK)) return NULL;
    char text[ONS_TYPE_TEXT];
    const ons_type *mask = &o->inputs[ONS_ONNX_MASK];
    const int64_t full[4] = {a->batch, a->heads, a->queries, a->keys};
    bool fits =
        mask->shape.rank >= 1 && mask->shape.rank <= 4 && (mask->dtype == ONS_BOOL || ons_dtype_is_float(mask->dtype));
    for (uint32_t i = 0; fits && i < 4; ++i) {
        bool given = i + mask->shape.rank >= 4;
        a->mask_dims[i] = given ? mask->shape.dims[i + mask->shape.rank - 4] : 1;
        fits = i == 3 ? a->mask_dims[i] <= full[i] : a->mask_dims[i] == 1 || a->mask_dims[i] == full[i];
    }
    if (!fits)
        return ons_node_error(o, "mask %s does not fit %lld queries and %lld keys", ons_type_print(mask, text),
                              (long long)a->queries, (long long)a->keys);
    a->has_mask = true;
    return NULL;
}

static ons_status *read_options(const ons_operands *o, ons_onnx_attention *a) {
    int64_t mode = ons_attribute_int(o, ONS_ONNX_SCORES_MODE);
    a->causal = ons_attribute_int(o, ONS_ONNX_CAUSAL) != 0;
    a->before = ons_attribute_int(o, ONS_ONNX_WINDOW_BEFORE);
    a->after = ons_attribute_int(o, ONS_ONNX_WINDOW_AFTER);
    a->scale = ons_has_attribute(o, ONS_ONNX_SCALE) ? ons_attribute_float(o, ONS_ONNX_SCALE)
                                                    : 1 / sqrt((double)(a->size > 0 ? a->size : 1));
    a->softcap = ons_attribute_float(o, ONS_ONNX_SOFTCAP);
    a->precision = o->inputs[ONS_ONNX_QUERY].dtype;
    if (ons_has_attribute(o, ONS_ONNX_PRECISION)) a->precision = (ons_dtype)ons_attribute_int(o, ONS_ONNX_PRECISION);
    if (mode < ONS_SCORES_RAW || mode > ONS_SCORES_SOFTMAX)
        return ons_node_error(o, "there is no qk_matmul_output_mode %lld", (long long)mode);
    if (!ons_dtype_is_float(a->precision) || a->before < -1 || a->after < -1)
        return ons_node_error(o, "a softmax_precision that is no float, or a window of less than no keys");
    a->scores_mode = (ons_scores_mode)mode;
    return NULL;
}

ons_status *ons_onnx_attention_of(const ons_operands *o, ons_onnx_attention *attention) {
    *attention = (ons_onnx_attention){0};
    ONS_TRY(read_sizes(o, attention));
    ONS_TRY(read_past(o, attention));
    ONS_TRY(read_mask(o, attention));
    attention->has_valid_keys = ons_has_input(o, ONS_ONNX_VALID_KEYS);
    if (attention->has_valid_keys) {
        const ons_type *counts = &o->inputs[ONS_ONNX_VALID_KEYS];
        if (counts->dtype != ONS_INT64 || counts->shape.rank != 1 || counts->shape.dims[0] != attention->batch)
            return ons_node_error(o, "nonpad_kv_seqlen must be an int64 for each sample");
        if (ons_has_input(o, ONS_ONNX_PAST_KEY))
            return ons_node_error(o, "nonpad_kv_seqlen and past keys exclude each other");
    }
    return read_options(o, attention);
}
