/* DepthToSpace on CUDA: what the host works out. */
#include "kernels/depth_to_space/depth_to_space.h"

ONS_CUDA_KERNEL(depth_to_space, ons_depth_to_space_prepare)
