/* ONNX's Attention: operands, attributes and sizes. */
#ifndef ONSTAGE_KERNELS_ONNX_ATTENTION_SIZES_H
#define ONSTAGE_KERNELS_ONNX_ATTENTION_SIZES_H

#include "kernels/common/operator/expand.h"

enum {
    ONS_ONNX_QUERY,
    ONS_ONNX_KEY,
    ONS_ONNX_VALUE,
    ONS_ONNX_MASK,
    ONS_ONNX_PAST_KEY,
    ONS_ONNX_PAST_VALUE,
    ONS_ONNX_VALID_KEYS,
};
enum { ONS_ONNX_RESULT, ONS_ONNX_PRESENT_KEY, ONS_ONNX_PRESENT_VALUE, ONS_ONNX_SCORES };
enum {
    ONS_ONNX_CAUSAL,
    ONS_ONNX_KEY_HEADS,
    ONS_ONNX_WINDOW_BEFORE,
    ONS_ONNX_QUERY_HEADS,
    ONS_ONNX_SCORES_MODE,
    ONS_ONNX_WINDOW_AFTER,
    ONS_ONNX_SCALE,
    ONS_ONNX_SOFTCAP,
    ONS_ONNX_PRECISION,
};

/* What output ONS_ONNX_SCORES shows. */
typedef enum ons_scores_mode {
    ONS_SCORES_RAW,
    ONS_SCORES_CAPPED,
    ONS_SCORES_MASKED,
    ONS_SCORES_SOFTMAX
} ons_scores_mode;

typedef struct ons_onnx_attention {
    int64_t batch, heads, queries, size;
    int64_t key_heads, new_keys, past, keys, value_size; /* keys: past and new */
    bool rank_3;                                         /* [batch, positions, heads × size] */
    bool has_mask, has_valid_keys;
    int64_t mask_dims[4]; /* broadcast to batch, heads, queries; the last may fall short of the keys */
    bool causal;
    int64_t before, after; /* keys of the window; -1: all */
    double scale, softcap; /* softcap 0: none */
    ons_scores_mode scores_mode;
    ons_dtype precision; /* of the softmax */
} ons_onnx_attention;

/* Fails with the node's name where the operands do not fit together. */
ons_status *ons_onnx_attention_of(const ons_operands *o, ons_onnx_attention *attention);

/* Builds the nodes. */
ons_status *ons_onnx_attention_expand(ons_replacement *m);

#endif
