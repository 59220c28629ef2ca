/* ArgMin on CUDA: what the host works out. */
#include "kernels/argminmax/argminmax.h"
#include "kernels/common/cuda/cuda_prepare.h"

ONS_CUDA_TYPED_KERNEL(arg_min, ons_argminmax_prepare)
