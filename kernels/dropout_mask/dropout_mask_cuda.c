/* DropoutMask on CUDA: what the host works out. */
#include "kernels/dropout_mask/dropout_mask.h"

extern ons_run_function ons_cuda_run_dropout_mask;

ONS_KERNELS(cuda, dropout_mask, ONS_KERNEL(ons_dropout_mask_prepare, ons_cuda_run_dropout_mask))
