#include "kernels/common/cuda/cuda_each.cuh"
extern "C" {
#include "kernels/roi_align/region.h"
}

namespace {

/* A thread for each plane goes through the regions in order, since they may share elements. */
struct spread_plane {
    ons_regions r;
    const float *dy, *corners;
    const int64_t *images;
    const float *x; /* for maxima alone */
    float *dx;

    __device__ void spread(const ons_region &region, int64_t bin, float slope, const float *from, float *to) const {
        int64_t found = -1, count = region.rows * region.columns;
        float most = 0, weight = 0;
        for (int64_t i = 0; i < count; ++i) {
            ons_sample sample = ons_region_sample(&r, &region, bin / r.out_width, bin % r.out_width, i / region.columns,
                                                  i % region.columns);
            for (int k = 0; k < 4; ++k) {
                float share = (float)sample.weight[k];
                int64_t at = sample.element[k];
                if (!r.maximum) {
                    to[at] += share / (float)count * slope;
                } else if (found < 0 || share * from[at] > most) {
                    found = at;
                    most = share * from[at];
                    weight = share;
                }
            }
        }
        if (found >= 0) to[found] += weight * slope;
    }
    __device__ void operator()(int64_t plane) const {
        int64_t size = r.height * r.width, bins = r.out_height * r.out_width, image = plane / r.channels,
                channel = plane % r.channels;
        float *to = dx + plane * size;
        for (int64_t i = 0; i < size; ++i) to[i] = 0;
        for (int64_t number = 0; number < r.count; ++number) {
            if (images[number] != image) continue;
            double own[4];
            for (int k = 0; k < 4; ++k) own[k] = corners[4 * number + k];
            ons_region region = ons_region_make(&r, own);
            for (int64_t bin = 0; bin < bins; ++bin)
                spread(region, bin, dy[(number * r.channels + channel) * bins + bin],
                       r.maximum ? x + plane * size : nullptr, to);
        }
    }
};

} // namespace

extern "C" void ons_cuda_run_roi_align_gradient(const ons_launch *launch) {
    const ons_regions *r = (const ons_regions *)launch->state;
    const float *x = r->maximum ? (const float *)launch->inputs[3] : nullptr;
    ons::each(launch, r->batch * r->channels,
              spread_plane{*r, (const float *)launch->inputs[0], (const float *)launch->inputs[1],
                           (const int64_t *)launch->inputs[2], x, (float *)launch->outputs[0]});
}
