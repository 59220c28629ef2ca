/* SquareSum on CUDA: what the host works out. */
#include "kernels/common/cuda/multi_tensor.h"
#include "kernels/common/elementwise/cuda_elementwise.h"

extern ons_run_function ons_cuda_run_square_sum;
extern ons_run_multi_tensor_function ons_cuda_multi_tensor_square_sum;

static ons_status *square_sum_cuda_prepare(ons_prepare *p) {
    int64_t elements = ons_elements(&p->operands->inputs[0]), chunks = elements / ONS_CUDA_CHUNK + 1;
    p->scratch_bytes = (chunks * (int64_t)sizeof(double) + 63) / 64 * 64; /* the sum of each */
    return ons_cuda_flat_prepare(p);
}

ONS_KERNELS(cuda, square_sum,
            ONS_MULTI_TENSOR_KERNEL(square_sum_cuda_prepare, ons_cuda_run_square_sum, ons_cuda_multi_tensor_square_sum))
