/* GlobalAveragePoolGradient on CUDA: what the host works out. */
#include "kernels/common/cuda/cuda_prepare.h"
#include "kernels/pooling/global_pool.h"

static ons_status *global_average_pool_gradient_prepare_cuda(ons_prepare *p) {
    return ons_cuda_prepare_typed_as_it_lies(p, ons_global_pool_prepare_result);
}

ONS_CUDA_KERNEL(global_average_pool_gradient, global_average_pool_gradient_prepare_cuda)
