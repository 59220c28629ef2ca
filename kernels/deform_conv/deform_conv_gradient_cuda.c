/* DeformConvGradient on CUDA: what the host works out. */
#include "kernels/deform_conv/deform_conv_gradient.h"

#include <oneapi/dnnl/dnnl.h>

#include "kernels/deform_conv/cuda_deformable.h"
#include "kernels/deform_conv/deformable.h"

static ons_status *deform_conv_gradient_prepare_cuda(ons_prepare *p) {
    ons_deformable d = {0};
    ONS_TRY(resolve_deformable(p->operands, &d));
    return ons_cuda_deformable_prepare(p, &d, false, 2);
}

ONS_CUDA_KERNEL(deform_conv_gradient, deform_conv_gradient_prepare_cuda)
