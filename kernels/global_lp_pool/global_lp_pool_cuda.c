/* GlobalLpPool on CUDA: what the host works out. */
#include "kernels/global_lp_pool/global_lp_pool_node.h"

#include "kernels/common/cuda/cuda_prepare.h"

ONS_CUDA_TYPED_KERNEL(global_lp_pool, ons_global_lp_pool_prepare)
