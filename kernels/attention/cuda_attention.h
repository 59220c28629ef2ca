/* Attention on CUDA: what cuda_attention.cuh works from. */
#ifndef ONSTAGE_KERNELS_ATTENTION_CUDA_ATTENTION_H
#define ONSTAGE_KERNELS_ATTENTION_CUDA_ATTENTION_H

#include "kernels/attention/cuda_attention_products.h"
#include "kernels/attention/cudnn_attention.h"

enum { ONS_CUDA_ATTENTION_SIZE = 256 }; /* of a head, at most */

typedef struct ons_cuda_attention_state {
    ons_attention attention;
    ons_dtype dtype;
    ons_cudnn_attention dnn;         /* its plan NULL: it is not the library's */
    ons_attention_products products; /* for what is not; none: our kernels do all of it */
    bool saves;                      /* of the forward plan: log Σ e^score */
    bool has_result;                 /* of the gradient: Σ p dp of a query is Σ dy y */
} ons_cuda_attention_state;

/* Refuses what the kernels cannot do; the state gets `attention` and the dtype of input 0. */
ons_status *ons_cuda_attention_prepare(ons_prepare *p, const ons_attention *attention,
                                       ons_cuda_attention_state **state);
/* Of a state whose plans may have been made since: the libraries' part of it is freed with the program. */
void ons_cuda_attention_own(ons_prepare *p, const ons_cuda_attention_state *state);

#endif
