/* Attention as cuDNN is asked for it: the steps in whose pattern the library knows flash attention (Dao et al., 2022;
 * neither scores nor probabilities are in memory). */
#ifndef ONSTAGE_KERNELS_COMMON_CUDA_DNN_ATTENTION_H
#define ONSTAGE_KERNELS_COMMON_CUDA_DNN_ATTENTION_H

#include "kernels/common/attention.h"
#include "kernels/common/cuda_dnn.h"

/* Arguments of a run. */
enum {
    ONS_DNN_QUERY,
    ONS_DNN_KEY,
    ONS_DNN_VALUE,
    ONS_DNN_RESULT,
    ONS_DNN_SAVED, /* log Σ e^score, float32 [batch, heads, queries] */
    ONS_DNN_MASK,
    ONS_DNN_RESULT_GRADIENT,
    ONS_DNN_QUERY_GRADIENT,
    ONS_DNN_KEY_GRADIENT,
    ONS_DNN_VALUE_GRADIENT,
    ONS_DNN_ATTENTION_ARGUMENTS,
};

/* A plan that does some heads of some samples at a time, so that the scratch of gradients stays modest: the library has
 * a half number there for every score where bits must be the same every time. */
typedef struct ons_dnn_attention {
    ons_dnn_plan *plan; /* NULL: the library has none, or is not asked (float32, dropped probabilities, rows that may
                           see nothing) */
    ons_attention attention;
    int64_t samples, heads; /* at a time */
} ons_dnn_attention;

/* `saves`: whether log Σ e^score is wanted. */
ons_status *ons_dnn_attention_prepare(ons_prepare *p, const ons_attention *attention, ons_dtype dtype, bool saves,
                                      ons_dnn_attention *plan);
/* Gradients of queries, keys and values, from the saved sums and the result. */
ons_status *ons_dnn_attention_gradient_prepare(ons_prepare *p, const ons_attention *attention, ons_dtype dtype,
                                               ons_dnn_attention *plan);
/* Arguments that the graph does not have are NULL. */
void ons_dnn_attention_run(const ons_dnn_attention *plan, const ons_launch *launch,
                           const void *const arguments[ONS_AT_LEAST(ONS_DNN_ATTENTION_ARGUMENTS)]);

/* The graphs themselves, for `samples` and `heads` at a time. */
ons_status *ons_dnn_attention_describe(ons_prepare *p, const ons_attention *attention, ons_dtype dtype, bool saves,
                                       int64_t samples, int64_t heads, ons_dnn_graph **graph);
ons_status *ons_dnn_attention_gradient_describe(ons_prepare *p, const ons_attention *attention, ons_dtype dtype,
                                                int64_t samples, int64_t heads, ons_dnn_graph **graph);

#endif
