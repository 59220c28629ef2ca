/* Trilu on CUDA: what the host works out. */
#include "kernels/trilu/trilu_node.h"

ONS_CUDA_KERNEL(trilu, ons_trilu_prepare)
