/* TopK on CUDA: what the host works out. */
#include "kernels/top_k/top_k_node.h"

#include "kernels/common/elementwise/cuda_elementwise.h"

extern ons_run_function ons_cuda_run_top_k;

static ons_status *top_k_prepare_cuda(ons_prepare *p) { return ons_cuda_prepare_typed(p, ons_top_k_prepare); }

ONS_KERNELS(cuda, top_k, ONS_KERNEL(top_k_prepare_cuda, ons_cuda_run_top_k))
