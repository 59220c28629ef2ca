/* DropoutGradient on CUDA: what the host works out. */
#include "kernels/dropout/dropout_gradient.h"

#include "kernels/common/elementwise/cuda_elementwise.h"
#include "kernels/random/dropout.h"

static ons_status *dropout_gradient_prepare_cuda(ons_prepare *p) {
    ONS_TRY(ons_cuda_float_prepare(p));
    ((ons_cuda_elementwise *)p->state)->parameters[0] =
        (float)ons_dropout_scale(ons_attribute_float(p->operands, RATIO));
    return NULL;
}

ONS_CUDA_KERNEL(dropout_gradient, dropout_gradient_prepare_cuda)
