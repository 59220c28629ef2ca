/* MaxRoiPool on CUDA: what the host works out. */
#include "kernels/max_roi_pool/max_roi_pool.h"

ONS_CUDA_KERNEL(max_roi_pool, ons_max_roi_pool_prepare)
