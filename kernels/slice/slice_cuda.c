/* Slice on CUDA: what the host works out. */
#include "kernels/slice/slice.h"

extern ons_run_function ons_cuda_run_slice;

ONS_KERNELS(cuda, slice, ONS_KERNEL(ons_slice_prepare, ons_cuda_run_slice))
