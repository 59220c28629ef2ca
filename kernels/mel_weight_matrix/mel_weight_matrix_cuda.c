/* MelWeightMatrix on CUDA. */
#include "kernels/signal/cuda_constant.h"

ONS_KERNELS(cuda, mel_weight_matrix, ONS_KERNEL(ons_cuda_known_prepare, ons_cuda_known_run))
