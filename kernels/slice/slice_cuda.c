/* Slice on CUDA: what the host works out. */
#include "kernels/slice/slicing.h"

ONS_KERNELS(cuda, slice, ONS_KERNEL(ons_slice_prepare, ons_cuda_strided_run))
