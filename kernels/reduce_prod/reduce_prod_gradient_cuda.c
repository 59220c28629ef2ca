/* ReduceProdGradient on CUDA: what the host works out. */
#include "kernels/reduce_prod/reduce_prod_gradient.h"

#include "kernels/common/elementwise/cuda_elementwise.h"
#include "kernels/reduction/cuda_reduction.h"

/* A group of threads for each result: no parts. */
static ons_status *reduce_prod_gradient_prepare_cuda(ons_prepare *p) {
    ONS_TRY(ons_cuda_require_float(p->operands, p->operands->inputs[0].dtype));
    ONS_TRY(ons_cuda_reduction_prepare(p));
    ((ons_cuda_reduction *)p->state)->parts = 1;
    p->scratch_bytes = 0;
    return NULL;
}

ONS_CUDA_KERNEL(reduce_prod_gradient, reduce_prod_gradient_prepare_cuda)
