/* CumSum on CUDA: what the host works out. */
#include "kernels/common/elementwise/cuda_elementwise.h"
#include "kernels/cumulative/cumulative.h"

extern ons_run_function ons_cuda_run_cum_sum;

static ons_status *cum_sum_prepare_cuda(ons_prepare *p) { return ons_cuda_prepare_typed(p, ons_cumulative_prepare); }

ONS_KERNELS(cuda, cum_sum, ONS_KERNEL(cum_sum_prepare_cuda, ons_cuda_run_cum_sum))
