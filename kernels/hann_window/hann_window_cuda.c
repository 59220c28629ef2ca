/* HannWindow on CUDA. */
#include "kernels/signal/cuda_constant.h"

ONS_KERNELS(cuda, hann_window, ONS_KERNEL(ons_cuda_known_prepare, ons_cuda_known_run))
