/* DeformConv on CUDA: what the host works out. */
#include "kernels/deform_conv/deform_conv.h"

#include <oneapi/dnnl/dnnl.h>

#include "kernels/deform_conv/cuda_deformable.h"
#include "kernels/deform_conv/deformable.h"

/* Offsets of a third and more keep clear of whole positions, where interpolation has its kinks. */
static ons_status *deform_conv_prepare_cuda(ons_prepare *p) {
    ons_deformable d = {0};
    ONS_TRY(resolve_deformable(p->operands, &d));
    return ons_cuda_deformable_prepare(p, &d, ons_has_input(p->operands, BIAS), 1);
}

ONS_CUDA_KERNEL(deform_conv, deform_conv_prepare_cuda)
