/* Attention as cuDNN is asked for it: the steps in whose pattern the library knows flash attention (Dao et al., 2022;
 * neither scores nor probabilities are in memory). */
#ifndef ONSTAGE_KERNELS_ATTENTION_CUDNN_ATTENTION_H
#define ONSTAGE_KERNELS_ATTENTION_CUDNN_ATTENTION_H

#include "kernels/attention/attention_operands.h"
#include "kernels/common/cudnn/cudnn_graph.h"

/* Arguments of a run. */
enum {
    ONS_CUDNN_QUERY,
    ONS_CUDNN_KEY,
    ONS_CUDNN_VALUE,
    ONS_CUDNN_RESULT,
    ONS_CUDNN_SAVED, /* log Σ e^score, float32 [batch, heads, queries] */
    ONS_CUDNN_MASK,
    ONS_CUDNN_KEPT, /* for a run: bool [batch, heads, queries, keys]; for the library: 1 and 0 of the operands' type */
    ONS_CUDNN_RESULT_GRADIENT,
    ONS_CUDNN_QUERY_GRADIENT,
    ONS_CUDNN_KEY_GRADIENT,
    ONS_CUDNN_VALUE_GRADIENT,
    ONS_CUDNN_ATTENTION_ARGUMENTS,
};

/* A plan that does some heads of some samples at a time, so that the scratch stays modest: for gradients the library
 * has a half number there for every score where bits must be the same every time, and a half number for every score
 * says whether its probability is kept. */
typedef struct ons_cudnn_attention {
    ons_cudnn_plan *plan; /* NULL: the library has none, or is not asked */
    ons_attention attention;
    ons_dtype dtype;
    int64_t samples, heads; /* at a time */
    int64_t kept_at;        /* where in the scratch the library is told what is kept */
} ons_cudnn_attention;

/* Puts on the launch's stream: `to`, of a half type, gets 1 where kept, else 0. */
typedef void ons_cudnn_kept_function(const ons_launch *launch, ons_dtype dtype, int64_t count, const uint8_t *kept,
                                     void *to);

/* `saves`: whether log Σ e^score is wanted. */
ons_status *ons_cudnn_attention_prepare(ons_prepare *p, const ons_attention *attention, ons_dtype dtype, bool saves,
                                        ons_cudnn_attention *plan);
/* Gradients of queries, keys and values, from the saved sums and the result. */
ons_status *ons_cudnn_attention_gradient_prepare(ons_prepare *p, const ons_attention *attention, ons_dtype dtype,
                                                 ons_cudnn_attention *plan);
/* Arguments that the graph does not have are NULL. `write_kept`: where probabilities are dropped. */
void ons_cudnn_attention_run(const ons_cudnn_attention *plan, const ons_launch *launch,
                             const void *const arguments[ONS_AT_LEAST(ONS_CUDNN_ATTENTION_ARGUMENTS)],
                             ons_cudnn_kept_function *write_kept);

/* The graphs themselves, for `samples` and `heads` at a time. */
ons_status *ons_cudnn_attention_describe(ons_prepare *p, const ons_attention *attention, ons_dtype dtype, bool saves,
                                         int64_t samples, int64_t heads, ons_cudnn_graph **graph);
ons_status *ons_cudnn_attention_gradient_describe(ons_prepare *p, const ons_attention *attention, ons_dtype dtype,
                                                  int64_t samples, int64_t heads, ons_cudnn_graph **graph);

#endif
