/* DropoutMask on CUDA: what the host works out. */
#include "kernels/dropout_mask/dropout_mask.h"

ONS_CUDA_KERNEL(dropout_mask, ons_dropout_mask_prepare)
