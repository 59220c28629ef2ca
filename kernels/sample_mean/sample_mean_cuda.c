/* SampleMean on CUDA: what the host works out. */
#include "kernels/sample_mean/sample_mean.h"

ONS_CUDA_KERNEL(sample_mean, ons_sample_mean_prepare)
