/* GlobalLpPool on CUDA: what the host works out. */
#include "kernels/global_lp_pool/global_lp_pool_node.h"

#include "kernels/common/elementwise/cuda_elementwise.h"

extern ons_run_function ons_cuda_run_global_lp_pool;

static ons_status *global_lp_pool_prepare_cuda(ons_prepare *p) {
    return ons_cuda_prepare_typed(p, ons_global_lp_pool_prepare);
}

ONS_KERNELS(cuda, global_lp_pool, ONS_KERNEL(global_lp_pool_prepare_cuda, ons_cuda_run_global_lp_pool))
