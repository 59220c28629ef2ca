/* MaxRoiPool on CUDA: what the host works out. */
#include "kernels/max_roi_pool/max_roi_pool.h"

extern ons_run_function ons_cuda_run_max_roi_pool;

ONS_KERNELS(cuda, max_roi_pool, ONS_KERNEL(ons_max_roi_pool_prepare, ons_cuda_run_max_roi_pool))
