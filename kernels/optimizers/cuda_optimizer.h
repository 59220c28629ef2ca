/* Optimisers on CUDA: how their kernels are prepared. */
#ifndef ONSTAGE_KERNELS_OPTIMIZERS_CUDA_OPTIMIZER_H
#define ONSTAGE_KERNELS_OPTIMIZERS_CUDA_OPTIMIZER_H

#include "kernels/optimizers/optimizer.h"

/* The state is an ons_optimizer; all is float32, but the gradient, which may be of a half type, and the half parameter.
 */
ons_status *ons_cuda_optimizer_prepare(ons_prepare *p);

#endif
