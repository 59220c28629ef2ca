/* OneHot on CUDA: what the host works out. */
#include "kernels/one_hot/one_hot_node.h"

extern ons_run_function ons_cuda_run_one_hot;

ONS_KERNELS(cuda, one_hot, ONS_KERNEL(ons_one_hot_prepare, ons_cuda_run_one_hot))
