/* RoiAlignGradient on the CPU. */
#include "kernels/roi_align/roi_align_gradient.h"

#include <string.h>

#include "kernels/roi_align/region.h"

ons_status *ons_roi_align_gradient_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ons_type x;
    ONS_TRY(ons_require_float32(o));
    if (o->inputs[CORNERS].dtype != ONS_FLOAT32) return ons_node_error(o, "regions are not float32");
    ons_regions *state;
    ONS_NEW_STATE(state, p);
    return ons_roi_align_gradient_regions_of(o, state, &x);
}

/* Where the largest part of a bin comes from. */
typedef struct place {
    int64_t element; /* -1: not found yet */
    float part, weight;
} place;

static place largest(const ons_float_sample *samples, int64_t count, const float *x, place best) {
    for (int64_t i = 0; i < count; ++i)
        for (int k = 0; k < 4; ++k) {
            float part = samples[i].weight[k] * x[samples[i].element[k]];
            if (best.element < 0 || part > best.part) best = (place){samples[i].element[k], part, samples[i].weight[k]};
        }
    return best;
}

/* Some channels of one region: `dy`, `x` and `dx` are those of the first one. */
static void spread_group(const ons_regions *r, const ons_region *region, int64_t channels, const float *dy,
                         const float *x, float *dx) {
    int64_t bins = r->out_height * r->out_width, pixels = r->height * r->width;
    int64_t all = region->rows * region->columns;
    for (int64_t bin = 0; bin < bins; ++bin) {
        place best[ONS_REGION_GROUP];
        for (int c = 0; c < ONS_REGION_GROUP; ++c) best[c] = (place){.element = -1};
        for (int64_t first = 0; first < all; first += ONS_REGION_SAMPLES) {
            ons_float_sample samples[ONS_REGION_SAMPLES];
            int64_t count = ons_region_collect(r, region, bin, first, samples);
            for (int64_t c = 0; c < channels; ++c) {
                float share = dy[c * bins + bin] / (float)all, *to = dx + c * pixels;
                if (r->maximum)
                    best[c] = largest(samples, count, x + c * pixels, best[c]);
                else
                    for (int64_t i = 0; i < count; ++i)
                        for (int k = 0; k < 4; ++k) to[samples[i].element[k]] += samples[i].weight[k] * share;
            }
        }
        for (int64_t c = 0; c < channels; ++c)
            if (best[c].element >= 0) dx[c * pixels + best[c].element] += best[c].weight * dy[c * bins + bin];
    }
}

/* Channels from `channel` on in all images, region after region, so that the order of the sums is fixed. */
static void spread_channels(const ons_regions *r, int64_t channel, int64_t channels, const ons_launch *launch) {
    const float *dy = launch->inputs[COTANGENT], *corners = launch->inputs[CORNERS];
    const float *x = r->maximum ? launch->inputs[X] : NULL;
    const int64_t *images = launch->inputs[IMAGES];
    float *dx = launch->outputs[0];
    int64_t bins = r->out_height * r->out_width, pixels = r->height * r->width;
    for (int64_t image = 0; image < r->batch; ++image)
        memset(dx + (image * r->channels + channel) * pixels, 0, (size_t)(channels * pixels) * sizeof *dx);
    for (int64_t i = 0; i < r->count; ++i) {
        if (images[i] < 0 || images[i] >= r->batch) continue;
        ons_region region = ons_region_from_floats(r, corners + 4 * i);
        int64_t plane = (images[i] * r->channels + channel) * pixels;
        spread_group(r, &region, channels, dy + (i * r->channels + channel) * bins, x == NULL ? NULL : x + plane,
                     dx + plane);
    }
}

static void roi_align_gradient_run(const ons_launch *launch) {
    const ons_regions *r = launch->state;
    int64_t groups = (r->channels + ONS_REGION_GROUP - 1) / ONS_REGION_GROUP;
#pragma omp parallel for schedule(                                                                                     \
    static) if (r->channels * (r->count * r->out_height * r->out_width + r->batch * r->height * r->width) > 512)
    for (int64_t i = 0; i < groups; ++i) {
        int64_t channel = i * ONS_REGION_GROUP, left = r->channels - channel;
        spread_channels(r, channel, left < ONS_REGION_GROUP ? left : ONS_REGION_GROUP, launch);
    }
}

ONS_KERNELS(cpu, roi_align_gradient, ONS_KERNEL(ons_roi_align_gradient_prepare, roi_align_gradient_run))
