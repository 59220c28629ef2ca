/* BitShift on CUDA: what the host works out. */
#include "kernels/bit_shift/bit_shift.h"

#include "kernels/common/elementwise/cuda_elementwise.h"

static ons_status *bit_shift_prepare_cuda(ons_prepare *p) {
    ons_dtype dtype = p->operands->inputs[0].dtype;
    if (dtype != ONS_UINT8 && dtype != ONS_UINT16 && dtype != ONS_UINT32 && dtype != ONS_UINT64)
        return ons_node_error(p->operands, "the CUDA kernel does not shift %s", ons_dtype_name(dtype));
    ONS_TRY(ons_cuda_move_prepare(p));
    ((ons_cuda_elementwise *)p->state)->parameters[0] = goes_left(p->operands) ? 1 : 0;
    return NULL;
}

ONS_CUDA_KERNEL(bit_shift, bit_shift_prepare_cuda)
