/* DropoutGradient on CUDA: what the host works out. */
#include "kernels/dropout/dropout_gradient.h"

#include "kernels/common/elementwise/cuda_elementwise.h"
#include "kernels/random/dropout.h"

extern ons_run_function ons_cuda_run_dropout_gradient;

static ons_status *dropout_gradient_prepare_cuda(ons_prepare *p) {
    ONS_TRY(ons_cuda_float_prepare(p));
    ((ons_cuda_elementwise *)p->state)->parameters[0] =
        (float)ons_dropout_scale(ons_attribute_float(p->operands, RATIO));
    return NULL;
}

ONS_KERNELS(cuda, dropout_gradient, ONS_KERNEL(dropout_gradient_prepare_cuda, ons_cuda_run_dropout_gradient))
