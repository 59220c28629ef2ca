/* GridSampleGradient on CUDA: what the host works out. */
#include "kernels/grid_sample/grid_sample_gradient.h"

ONS_CUDA_KERNEL(grid_sample_gradient, ons_grid_sample_gradient_prepare)
