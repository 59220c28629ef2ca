/* SpaceToDepth on CUDA: what the host works out. */
#include "kernels/space_to_depth/space_to_depth.h"

#include "kernels/common/layout/strided.h"

ONS_KERNELS(cuda, space_to_depth, ONS_KERNEL(ons_space_to_depth_prepare, ons_cuda_strided_run))
