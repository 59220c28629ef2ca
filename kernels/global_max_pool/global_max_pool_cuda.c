/* GlobalMaxPool on CUDA: what the host works out. */
#include "kernels/common/cuda/cuda_prepare.h"
#include "kernels/pooling/global_pool.h"

ONS_CUDA_TYPED_KERNEL(global_max_pool, ons_global_pool_prepare)
