/* DepthToSpace on CUDA: what the host works out. */
#include "kernels/depth_to_space/depth_to_space.h"

#include "kernels/common/layout/strided.h"

ONS_KERNELS(cuda, depth_to_space, ONS_KERNEL(ons_depth_to_space_prepare, ons_cuda_strided_run))
