/* MaxUnpool on CUDA: what the host works out. */
#include "kernels/max_unpool/max_unpool_node.h"

#include "kernels/common/elementwise/cuda_elementwise.h"

/* Scratch: which value each element of the result takes, as its number from 1. */
static ons_status *max_unpool_prepare_cuda(ons_prepare *p) {
    ONS_TRY(ons_cuda_prepare_like_cpu(p, ons_max_unpool_prepare));
    p->scratch_bytes = (((const ons_max_unpool *)p->state)->elements * (int64_t)sizeof(uint64_t) + 63) / 64 * 64;
    return NULL;
}

ONS_CUDA_KERNEL(max_unpool, max_unpool_prepare_cuda)
