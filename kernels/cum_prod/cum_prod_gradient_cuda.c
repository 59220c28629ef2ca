/* CumProdGradient on CUDA: what the host works out. */
#include "kernels/common/cuda/cuda_prepare.h"
#include "kernels/cumulative/cumulative.h"

ONS_CUDA_TYPED_KERNEL(cum_prod_gradient, ons_cumulative_prepare)
