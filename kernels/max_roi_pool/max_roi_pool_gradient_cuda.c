/* MaxRoiPoolGradient on CUDA: what the host works out. */
#include "kernels/max_roi_pool/max_roi_pool_gradient_node.h"

extern ons_run_function ons_cuda_run_max_roi_pool_gradient;

ONS_KERNELS(cuda, max_roi_pool_gradient,
            ONS_KERNEL(ons_max_roi_pool_gradient_prepare, ons_cuda_run_max_roi_pool_gradient))
