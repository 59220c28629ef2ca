/* MaxPool on CUDA: what the host works out. */
#include "kernels/max_pool/max_pool.h"

#include "kernels/pooling/cuda_pooling.h"
#include "kernels/pooling/pooling.h"

static ons_status *max_pool_prepare_cuda(ons_prepare *p) {
    ons_pooling pooling;
    ons_cuda_pooling *s;
    ONS_TRY(ons_pooling_resolve(p->operands, &p->operands->inputs[0], &pooling));
    ONS_TRY(ons_cuda_pooling_prepare(p, &pooling, &s));
    s->column_major = ons_attribute_int(p->operands, ONS_POOLING_STORAGE_ORDER) != 0;
    return NULL;
}

ONS_CUDA_KERNEL(max_pool, max_pool_prepare_cuda)
