/* TopK on CUDA: what the host works out. */
#include "kernels/top_k/top_k_node.h"

#include "kernels/common/cuda/cuda_prepare.h"

ONS_CUDA_TYPED_KERNEL(top_k, ons_top_k_prepare)
