/* MaxRoiPool on the CPU. */
#include "kernels/max_roi_pool/max_roi_pool.h"

#include <string.h>

#include "kernels/max_roi_pool/roi_window.h"

ons_status *ons_max_roi_pool_prepare(ons_prepare *p) {
    ONS_TRY(ons_require_float32(p->operands));
    ons_roi_sizes *state;
    ONS_NEW_STATE(state, p);
    return ons_max_roi_pool_find_sizes(p->operands, state);
}

/* All bins of one region in one plane; `to` is the number of the first. */
static void pool_region(const ons_roi_sizes *s, const float *region, const float *plane, int64_t to, float *y,
                        int32_t *positions) {
    for (int64_t row = 0; row < s->rows; ++row) {
        int64_t top, bottom, left, right;
        ons_roi_span(region[2], region[4], s->scale, row, s->rows, s->height, &top, &bottom);
        for (int64_t column = 0; column < s->columns; ++column, ++to) {
            int64_t best = -1;
            ons_roi_span(region[1], region[3], s->scale, column, s->columns, s->width, &left, &right);
            for (int64_t at = top * s->width; at < bottom * s->width; at += s->width)
                for (int64_t k = left; k < right; ++k)
                    if (best < 0 || plane[at + k] > plane[best]) best = at + k;
            y[to] = best < 0 ? 0 : plane[best];
            if (positions != NULL) positions[to] = (int32_t)best;
        }
    }
}

static void max_roi_pool_run(const ons_launch *launch) {
    const ons_roi_sizes *s = launch->state;
    const float *x = launch->inputs[0], *regions = launch->inputs[1];
    float *y = launch->outputs[0];
    int32_t *positions = launch->outputs[1];
    int64_t bins = s->rows * s->columns;
#pragma omp parallel for schedule(static) if (s->regions * s->channels * bins > 1024)
    for (int64_t i = 0; i < s->regions * s->channels; ++i) {
        const float *region = regions + i / s->channels * 5;
        if (region[0] >= 0 && region[0] < (float)s->batch) {
            int64_t plane = (int64_t)region[0] * s->channels + i % s->channels;
            pool_region(s, region, x + plane * s->height * s->width, i * bins, y, positions);
            continue;
        }
        memset(y + i * bins, 0, (size_t)bins * sizeof *y);
        for (int64_t k = i * bins; positions != NULL && k < (i + 1) * bins; ++k) positions[k] = -1;
    }
    for (int64_t i = 0; i < s->regions && launch->fault != NULL && launch->fault->problem == NULL; ++i)
        if (!(regions[i * 5] >= 0 && regions[i * 5] < (float)s->batch))
            *launch->fault = (ons_fault){.problem = ONS_ROI_PROBLEM, .index = i, .value = i};
}

ONS_KERNELS(cpu, max_roi_pool, ONS_KERNEL(ons_max_roi_pool_prepare, max_roi_pool_run))
