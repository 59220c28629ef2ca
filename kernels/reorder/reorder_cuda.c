/* Reorder on CUDA: what the host works out. */
#include "kernels/reorder/reorder.h"

#include "kernels/common/layout/layouts.h"
#include "kernels/common/layout/strided.h"

static ons_status *reorder_prepare_cuda(ons_prepare *p) {
    const ons_type *from = &p->operands->inputs[0], *to = &p->operands->outputs[0];
    if (ons_layout_is_weight(from->layout) || ons_layout_is_weight(to->layout))
        return ons_node_error(p->operands, "the CUDA kernel does not know layouts of the CPU's weights");
    ons_strided copy = ons_reorder_make_copy(from, to);
    return ons_strided_prepare(p, &copy);
}

ONS_KERNELS(cuda, reorder, ONS_KERNEL(reorder_prepare_cuda, ons_cuda_strided_run))
