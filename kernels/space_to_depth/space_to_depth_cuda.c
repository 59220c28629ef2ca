/* SpaceToDepth on CUDA: what the host works out. */
#include "kernels/space_to_depth/space_to_depth.h"

ONS_CUDA_KERNEL(space_to_depth, ons_space_to_depth_prepare)
