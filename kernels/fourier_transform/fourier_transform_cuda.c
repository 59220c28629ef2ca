/* FourierTransform on CUDA: what the host works out. */
#include "kernels/fourier_transform/fourier_transform_node.h"

/* Scratch: cosines and sines of the circle's `length` parts. */
static ons_status *fourier_transform_prepare_cuda(ons_prepare *p) {
    uint32_t axis;
    ONS_TRY(ons_require_float32(p->operands));
    ons_fourier_sizes *s;
    ONS_NEW_STATE(s, p);
    ONS_TRY(ons_fourier_transform_resolve(p->operands, s, &axis));
    if (s->length > INT32_MAX) return ons_node_error(p->operands, "so long a transform is not possible");
    p->scratch_bytes = (2 * s->length * (int64_t)sizeof(double) + 63) / 64 * 64;
    p->implementation = "cuda:by the definition";
    return NULL;
}

ONS_CUDA_KERNEL(fourier_transform, fourier_transform_prepare_cuda)
