/* Attention on CUDA: what cuda_attention.cuh works from. */
#ifndef ONSTAGE_KERNELS_COMMON_CUDA_ATTENTION_H
#define ONSTAGE_KERNELS_COMMON_CUDA_ATTENTION_H

#include "kernels/common/attention.h"

enum { ONS_CUDA_ATTENTION_SIZE = 256 }; /* of a head, at most */

typedef struct ons_cuda_attention_state {
    ons_attention attention;
    ons_dtype dtype;
} ons_cuda_attention_state;

/* Refuses what the kernels cannot do; the state gets `attention` and the dtype of input 0. */
ons_status *ons_cuda_attention_prepare(ons_prepare *p, const ons_attention *attention);

#endif
