/* ChannelSum on CUDA: what the host works out. */
#include "kernels/reduction/cuda_reduction.h"

static ons_status *channel_sum_cuda_prepare(ons_prepare *p) {
    bool reduced[ONS_RANK_MAX];
    for (uint32_t i = 0; i < ONS_RANK_MAX; ++i) reduced[i] = i != 1;
    return ons_cuda_reduction_over(p, reduced);
}

ONS_CUDA_KERNEL(channel_sum, channel_sum_cuda_prepare)
