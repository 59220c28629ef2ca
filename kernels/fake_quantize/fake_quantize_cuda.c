/* FakeQuantize on CUDA: what the host works out. */
#include "kernels/fake_quantize/fake_quantize_node.h"

#include "kernels/common/cuda/cuda_prepare.h"

ONS_CUDA_TYPED_KERNEL(fake_quantize, ons_fake_quantize_prepare)
