/* Expand on CUDA: what the host works out. */
#include "kernels/expand/expand.h"

#include "kernels/common/layout/strided.h"

ONS_KERNELS(cuda, expand, ONS_KERNEL(ons_expand_prepare, ons_cuda_strided_run))
