/* MaxRoiPoolGradient on CUDA: what the host works out. */
#include "kernels/max_roi_pool/max_roi_pool_gradient_node.h"

ONS_CUDA_KERNEL(max_roi_pool_gradient, ons_max_roi_pool_gradient_prepare)
