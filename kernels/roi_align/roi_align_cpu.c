/* RoiAlign on the CPU. */
#include "kernels/roi_align/roi_align.h"

#include <string.h>

#include "kernels/roi_align/region.h"

ons_status *ons_roi_align_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ONS_TRY(ons_require_float32(o));
    if (o->inputs[CORNERS].dtype != ONS_FLOAT32) return ons_node_error(o, "regions are not float32");
    ons_regions *state;
    ONS_NEW_STATE(state, p);
    return ons_regions_of(o, &o->inputs[X], CORNERS, state);
}

static inline float mean_of(const ons_float_sample *samples, int64_t count, const float *plane, float sum) {
    for (int64_t i = 0; i < count; ++i)
        for (int k = 0; k < 4; ++k) sum += samples[i].weight[k] * plane[samples[i].element[k]];
    return sum;
}

static inline float most_of(const ons_float_sample *samples, int64_t count, const float *plane, float most, bool any) {
    for (int64_t i = 0; i < count; ++i)
        for (int k = 0; k < 4; ++k) {
            float part = samples[i].weight[k] * plane[samples[i].element[k]];
            most = !any || part > most ? part : most;
            any = true;
        }
    return most;
}

/* Some channels of one region: `x` and `y` are those of the first one. */
static void pool_group(const ons_regions *r, const ons_region *region, int64_t channels, const float *x, float *y) {
    int64_t bins = r->out_height * r->out_width, pixels = r->height * r->width;
    int64_t all = region->rows * region->columns;
    for (int64_t bin = 0; bin < bins; ++bin) {
        float result[ONS_REGION_GROUP] = {0};
        for (int64_t first = 0; first < all; first += ONS_REGION_SAMPLES) {
            ons_float_sample samples[ONS_REGION_SAMPLES];
            int64_t count = ons_region_collect(r, region, bin, first, samples);
            for (int64_t c = 0; c < channels; ++c)
                result[c] = r->maximum ? most_of(samples, count, x + c * pixels, result[c], first > 0)
                                       : mean_of(samples, count, x + c * pixels, result[c]);
        }
        float share = r->maximum || all == 0 ? 1 : 1 / (float)all;
        for (int64_t c = 0; c < channels; ++c) y[c * bins + bin] = result[c] * share;
    }
}

static void roi_align_run(const ons_launch *launch) {
    const ons_regions *r = launch->state;
    const float *x = launch->inputs[X], *corners = launch->inputs[CORNERS];
    const int64_t *images = launch->inputs[IMAGES];
    float *y = launch->outputs[0];
    int64_t bins = r->out_height * r->out_width, groups = (r->channels + ONS_REGION_GROUP - 1) / ONS_REGION_GROUP;
    for (int64_t i = 0; i < r->count; ++i)
        if ((images[i] < 0 || images[i] >= r->batch) && launch->fault->problem == NULL)
            *launch->fault = (ons_fault){.problem = ONS_REGION_PROBLEM, .index = i, .value = images[i]};
#pragma omp parallel for schedule(static) if (r->count * r->channels * bins > 512)
    for (int64_t i = 0; i < r->count * groups; ++i) {
        int64_t number = i / groups, channel = i % groups * ONS_REGION_GROUP, left = r->channels - channel;
        int64_t channels = left < ONS_REGION_GROUP ? left : ONS_REGION_GROUP, image = images[number];
        ons_region region = ons_region_from_floats(r, corners + 4 * number);
        float *to = y + (number * r->channels + channel) * bins;
        if (image < 0 || image >= r->batch)
            memset(to, 0, (size_t)(channels * bins) * sizeof *to);
        else
            pool_group(r, &region, channels, x + (image * r->channels + channel) * r->height * r->width, to);
    }
}

ONS_KERNELS(cpu, roi_align, ONS_KERNEL(ons_roi_align_prepare, roi_align_run))
