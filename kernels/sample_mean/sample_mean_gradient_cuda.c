/* SampleMeanGradient on CUDA: what the host works out. */
#include "kernels/sample_mean/sample_mean.h"

ONS_CUDA_KERNEL(sample_mean_gradient, ons_sample_mean_gradient_prepare)
