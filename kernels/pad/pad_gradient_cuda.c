/* PadGradient on CUDA: what the host works out. */
#include "kernels/pad/pad_gradient.h"

#include "kernels/pad/padding.h"
#include "kernels/resampling/cuda_separable.h"

static ons_status *pad_gradient_prepare_cuda(ons_prepare *p) {
    ons_padding padding;
    ons_axis_map maps[ONS_RANK_MAX], transposed[ONS_RANK_MAX];
    ONS_TRY(padding_of(p->operands, &padding));
    ONS_TRY(ons_padding_maps(&padding, p->arena, maps));
    for (uint32_t i = 0; i < padding.input.rank; ++i)
        ONS_TRY(ons_axis_map_transpose(p->arena, &maps[i], &transposed[i]));
    return ons_cuda_separable_prepare(p, padding.input.rank, transposed, 0);
}

ONS_KERNELS(cuda, pad_gradient, ONS_KERNEL(pad_gradient_prepare_cuda, ons_cuda_separable_run))
