/* LRN on CUDA: what the host works out. */
#include "kernels/lrn/local_response.h"

#include "kernels/common/cuda/cuda_prepare.h"

ONS_CUDA_TYPED_KERNEL(lrn, ons_lrn_prepare)
