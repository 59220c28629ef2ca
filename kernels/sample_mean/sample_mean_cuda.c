/* SampleMean on CUDA: what the host works out. */
#include "kernels/sample_mean/sample_mean.h"

extern ons_run_function ons_cuda_run_sample_mean;

ONS_KERNELS(cuda, sample_mean, ONS_KERNEL(ons_sample_mean_prepare, ons_cuda_run_sample_mean))
