/* ReduceLogSumExp on CUDA: what the host works out. */
#include "kernels/reduce_log_sum_exp/reduce_log_sum_exp.h"

#include "kernels/common/elementwise/cuda_elementwise.h"
#include "kernels/reduction/cuda_reduction.h"

/* A group of threads for each result: no parts. */
static ons_status *reduce_log_sum_exp_prepare_cuda(ons_prepare *p) {
    ONS_TRY(ons_cuda_require_float(p->operands, p->operands->inputs[0].dtype));
    ONS_TRY(ons_cuda_reduction_prepare(p));
    ((ons_cuda_reduction *)p->state)->parts = 1;
    p->scratch_bytes = 0;
    return NULL;
}

ONS_CUDA_KERNEL(reduce_log_sum_exp, reduce_log_sum_exp_prepare_cuda)
