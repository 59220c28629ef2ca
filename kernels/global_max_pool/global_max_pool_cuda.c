/* GlobalMaxPool on CUDA: what the host works out. */
#include "kernels/global_max_pool/global_max_pool.h"

#include "kernels/common/elementwise/cuda_elementwise.h"

extern ons_run_function ons_cuda_run_global_max_pool;

static ons_status *global_max_pool_prepare_cuda(ons_prepare *p) {
    return ons_cuda_prepare_typed(p, ons_global_max_pool_prepare);
}

ONS_KERNELS(cuda, global_max_pool, ONS_KERNEL(global_max_pool_prepare_cuda, ons_cuda_run_global_max_pool))
