/* Col2ImGradient on CUDA: what the host works out. */
#include "kernels/col2im/unfold.h"

#include "kernels/common/cuda/cuda_prepare.h"

ONS_CUDA_TYPED_KERNEL(col2im_gradient, ons_col2im_gradient_prepare)
