/* What CUDA needs of resample.h. */
#include "kernels/resampling/resample.h"

#include "kernels/resampling/cuda_separable.h"

ons_status *ons_cuda_resampling_prepare(ons_prepare *p, const ons_resampling *r, bool transposed) {
    ons_axis_map maps[ONS_RANK_MAX];
    ONS_TRY(ons_resampling_maps(r, p->arena, maps));
    for (uint32_t i = 0; transposed && i < r->input.rank; ++i) {
        ons_axis_map map = maps[i];
        ONS_TRY(ons_axis_map_transpose(p->arena, &map, &maps[i]));
    }
    return ons_cuda_separable_prepare(p, r->input.rank, maps, transposed ? 0 : r->fill);
}

ons_status *ons_cuda_resize_prepare(ons_prepare *p) {
    ons_resampling r;
    ons_resolved(ons_resampling_of(p->operands, &p->operands->inputs[ONS_RESAMPLE_X].shape, &r));
    return ons_cuda_resampling_prepare(p, &r, false);
}
