/* ChannelShuffle on CUDA: what the host works out. */
#include "kernels/channel_shuffle/channel_shuffle.h"

#include "kernels/common/layout/strided.h"

ONS_KERNELS(cuda, channel_shuffle, ONS_KERNEL(ons_channel_shuffle_prepare, ons_cuda_strided_run))
