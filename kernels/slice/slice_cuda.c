/* Slice on CUDA: what the host works out. */
#include "kernels/slice/slice.h"

#include "kernels/common/layout/strided.h"

ONS_KERNELS(cuda, slice, ONS_KERNEL(ons_slice_prepare, ons_cuda_strided_run))
