/* Conv on CUDA: what the host works out. */
#include "kernels/conv/conv.h"

#include "kernels/convolution/convolution.h"
#include "kernels/convolution/cuda_convolution.h"

static ons_status *conv_prepare_cuda(ons_prepare *p) {
    ons_convolution c;
    ONS_TRY(resolve_conv(p->operands, &c));
    c.y.layout = p->operands->outputs[0].layout;
    return ons_cuda_convolution_prepare(p, &c);
}

ONS_CUDA_KERNEL(conv, conv_prepare_cuda)
