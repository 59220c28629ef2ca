/* FakeQuantize on CUDA: what the host works out. */
#include "kernels/fake_quantize/fake_quantize_node.h"

#include "kernels/common/elementwise/cuda_elementwise.h"

extern ons_run_function ons_cuda_run_fake_quantize;

static ons_status *fake_quantize_prepare_cuda(ons_prepare *p) {
    return ons_cuda_prepare_typed(p, ons_fake_quantize_prepare);
}

ONS_KERNELS(cuda, fake_quantize, ONS_KERNEL(fake_quantize_prepare_cuda, ons_cuda_run_fake_quantize))
