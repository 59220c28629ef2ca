/* What the CPU runs of resample.h. */
#include "kernels/resampling/resample.h"

/* Elements of an axis that is resampled: tables hold a few numbers for each, and more where the kernel is wide. */
enum { LONGEST = 1 << 19, LONGEST_WIDE = 1 << 18 };

static ons_status *check_lengths(const ons_operands *o, const ons_resampling *r) {
    int64_t longest = r->mode == ONS_CUBIC || r->antialias ? LONGEST_WIDE : LONGEST;
    for (uint32_t i = 0; i < r->input.rank; ++i)
        ONS_CHECK(!r->axes[i].changes || (r->axes[i].input <= longest && r->axes[i].output <= longest), ONS_UNSUPPORTED,
                  "node '%s' (%s): axis %u is longer than %lld elements; resample shorter pieces", o->name, o->op->name,
                  i, (long long)longest);
    return NULL;
}

/* ---- kernel */

ons_status *ons_resampling_prepare(ons_prepare *p, const ons_resampling *r, bool transposed) {
    ons_axis_map maps[ONS_RANK_MAX], ordered[ONS_RANK_MAX];
    uint32_t rank = r->input.rank;
    ONS_TRY(ons_require_float32(p->operands));
    ONS_TRY(check_lengths(p->operands, r));
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
