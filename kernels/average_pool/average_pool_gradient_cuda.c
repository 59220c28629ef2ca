/* AveragePoolGradient on CUDA: what the host works out. */
#include "kernels/pooling/cuda_pooling.h"
#include "kernels/pooling/pooling.h"

static ons_status *average_pool_gradient_prepare_cuda(ons_prepare *p) {
    ons_pooling pooling;
    ons_cuda_pooling *s;
    ONS_TRY(ons_pooling_resolve_gradient(p->operands, &p->operands->inputs[0], &pooling));
    return ons_cuda_pooling_prepare(p, &pooling, &s);
}

ONS_CUDA_KERNEL(average_pool_gradient, average_pool_gradient_prepare_cuda)
