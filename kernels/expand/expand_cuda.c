/* Expand on CUDA: what the host works out. */
#include "kernels/expand/expand.h"

ONS_CUDA_KERNEL(expand, ons_expand_prepare)
