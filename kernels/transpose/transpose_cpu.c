/* Transpose on the CPU. */
#include "kernels/transpose/transpose.h"

#include "kernels/common/layout/channels.h"
#include "kernels/common/layout/strided.h"

ons_status *ons_transpose_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    uint32_t perm[ONS_RANK_MAX];
    ons_resolved(ons_transpose_find_permutation(o, perm));
    ons_strided copy = ons_strided_dense(o->outputs[0].dtype, &o->outputs[0].shape);
    int64_t strides[ONS_RANK_MAX];
    ons_channels_strides(&o->inputs[0], strides);
    for (uint32_t i = 0; i < copy.rank; ++i) copy.from[i] = strides[perm[i]];
    return ons_strided_prepare(p, &copy);
}

ONS_KERNELS(cpu, transpose, ONS_KERNEL(ons_transpose_prepare, ons_strided_run))
