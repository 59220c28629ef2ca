/* ArgMax on CUDA: what the host works out. */
#include "kernels/argminmax/argminmax.h"
#include "kernels/common/elementwise/cuda_elementwise.h"

extern ons_run_function ons_cuda_run_arg_max;

static ons_status *arg_max_prepare_cuda(ons_prepare *p) { return ons_cuda_prepare_typed(p, ons_argminmax_prepare); }

ONS_KERNELS(cuda, arg_max, ONS_KERNEL(arg_max_prepare_cuda, ons_cuda_run_arg_max))
