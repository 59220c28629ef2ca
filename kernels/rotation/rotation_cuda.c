/* Rotation on CUDA: what the host works out. */
#include "kernels/rotation/rotation_node.h"

#include "kernels/common/cuda/cuda_prepare.h"

ONS_CUDA_TYPED_KERNEL(rotation, ons_rotation_prepare)
