/* GlobalMaxPool on CUDA: what the host works out. */
#include "kernels/global_max_pool/global_max_pool.h"

#include "kernels/common/cuda/cuda_prepare.h"

ONS_CUDA_TYPED_KERNEL(global_max_pool, ons_global_max_pool_prepare)
