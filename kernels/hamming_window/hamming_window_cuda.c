/* HammingWindow on CUDA. */
#include "kernels/signal/cuda_constant.h"

ONS_KERNELS(cuda, hamming_window, ONS_KERNEL(ons_cuda_known_prepare, ons_cuda_known_run))
