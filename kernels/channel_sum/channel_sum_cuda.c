/* ChannelSum on CUDA: what the host works out. */
#include "kernels/reduction/cuda_reduction.h"

extern ons_run_function ons_cuda_run_channel_sum;

static ons_status *channel_sum_cuda_prepare(ons_prepare *p) {
    bool reduced[ONS_RANK_MAX];
    for (uint32_t i = 0; i < ONS_RANK_MAX; ++i) reduced[i] = i != 1;
    return ons_cuda_reduction_over(p, reduced);
}

ONS_KERNELS(cuda, channel_sum, ONS_KERNEL(channel_sum_cuda_prepare, ons_cuda_run_channel_sum))
