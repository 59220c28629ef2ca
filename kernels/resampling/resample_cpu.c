/* What the CPU runs of resample.h. */
#include "kernels/resampling/resample.h"

/* ---- kernel */

ons_status *ons_resampling_prepare(ons_prepare *p, const ons_resampling *r, bool transposed) {
    ons_axis_map maps[ONS_RANK_MAX], ordered[ONS_RANK_MAX];
    uint32_t rank = r->input.rank;
    ONS_TRY(ons_require_float32(p->operands));
    ONS_TRY(ons_resampling_maps(r, p->arena, maps));
    ons_layout layout = p->operands->inputs[0].layout;
    for (uint32_t i = 0; i < rank; ++i) {
        const ons_axis_map *map = &maps[ons_channels_axis(layout, rank, i)];
        if (transposed)
            ONS_TRY(ons_axis_map_transpose(p->arena, map, &ordered[i]));
        else
            ordered[i] = *map;
    }
    ons_separable *plan;
    ONS_NEW_STATE(plan, p);
    return ons_separable_plan(p, rank, ordered, transposed ? 0 : r->fill, plan);
}

void ons_resampling_run(const ons_launch *launch) {
    ons_separable_run(launch->state, launch->inputs[0], launch->outputs[0], launch->scratch);
}

ons_status *ons_resize_prepare(ons_prepare *p) {
    ons_resampling r;
    ons_resolved(ons_resampling_of(p->operands, &p->operands->inputs[ONS_RESAMPLE_X].shape, &r));
    return ons_resampling_prepare(p, &r, false);
}
