/* LpPoolGradient on CUDA: what the host works out. */
#include "kernels/lp_pool/lp_pool_gradient.h"

#include "kernels/pooling/cuda_pooling.h"
#include "kernels/pooling/pooling.h"

static ons_status *lp_pool_gradient_prepare_cuda(ons_prepare *p) {
    ons_pooling pooling;
    ons_cuda_pooling *s;
    int order;
    ONS_TRY(resolve_lp_pooling(p->operands, &pooling, &order));
    ONS_TRY(ons_cuda_pooling_prepare(p, &pooling, &s));
    s->p = order;
    return NULL;
}

ONS_CUDA_KERNEL(lp_pool_gradient, lp_pool_gradient_prepare_cuda)
