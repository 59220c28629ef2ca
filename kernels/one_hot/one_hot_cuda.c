/* OneHot on CUDA: what the host works out. */
#include "kernels/one_hot/one_hot_node.h"

ONS_CUDA_KERNEL(one_hot, ons_one_hot_prepare)
