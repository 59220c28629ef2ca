/* Split on CUDA: what the host works out. */
#include "kernels/split/split.h"

ONS_CUDA_KERNEL(split, ons_split_prepare)
