/* SampleMeanGradient on CUDA: what the host works out. */
#include "kernels/sample_mean/sample_mean_gradient.h"

extern ons_run_function ons_cuda_run_sample_mean_gradient;

ONS_KERNELS(cuda, sample_mean_gradient, ONS_KERNEL(ons_sample_mean_gradient_prepare, ons_cuda_run_sample_mean_gradient))
