/* LRN on CUDA: what the host works out. */
#include "kernels/lrn/lrn.h"

#include "kernels/common/elementwise/cuda_elementwise.h"

extern ons_run_function ons_cuda_run_lrn;

static ons_status *lrn_prepare_cuda(ons_prepare *p) { return ons_cuda_prepare_typed(p, ons_lrn_prepare); }

ONS_KERNELS(cuda, lrn, ONS_KERNEL(lrn_prepare_cuda, ons_cuda_run_lrn))
