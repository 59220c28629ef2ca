/* Col2Im on CUDA: what the host works out. */
#include "kernels/col2im/col2im.h"

#include "kernels/common/elementwise/cuda_elementwise.h"

extern ons_run_function ons_cuda_run_col2im;

static ons_status *col2im_prepare_cuda(ons_prepare *p) { return ons_cuda_prepare_typed(p, ons_col2im_prepare); }

ONS_KERNELS(cuda, col2im, ONS_KERNEL(col2im_prepare_cuda, ons_cuda_run_col2im))
