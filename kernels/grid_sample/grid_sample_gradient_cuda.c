/* GridSampleGradient on CUDA: what the host works out. */
#include "kernels/grid_sample/grid_sample_gradient.h"

extern ons_run_function ons_cuda_run_grid_sample_gradient;

ONS_KERNELS(cuda, grid_sample_gradient, ONS_KERNEL(ons_grid_sample_gradient_prepare, ons_cuda_run_grid_sample_gradient))
