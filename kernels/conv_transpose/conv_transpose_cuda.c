/* ConvTranspose on CUDA: what the host works out. */
#include "kernels/conv_transpose/conv_transpose.h"

#include "kernels/convolution/convolution.h"
#include "kernels/convolution/cuda_convolution.h"

static ons_status *conv_transpose_prepare_cuda(ons_prepare *p) {
    ons_convolution c;
    ONS_TRY(ons_conv_transpose_resolve(p->operands, &c));
    c.x.layout = p->operands->outputs[0].layout;
    return ons_cuda_convolution_prepare(p, &c);
}

ONS_CUDA_KERNEL(conv_transpose, conv_transpose_prepare_cuda)
