/* What the CPU runs of region.h. */
#include "kernels/roi_align/region.h"

int64_t ons_region_collect(const ons_regions *r, const ons_region *region, int64_t bin, int64_t first,
                           ons_float_sample samples[ONS_AT_LEAST(ONS_REGION_SAMPLES)]) {
    int64_t left = region->rows * region->columns - first;
    int64_t count = left < ONS_REGION_SAMPLES ? left : ONS_REGION_SAMPLES;
    for (int64_t i = 0; i < count; ++i) {
        ons_sample sample = ons_region_sample(r, region, bin / r->out_width, bin % r->out_width,
                                              (first + i) / region->columns, (first + i) % region->columns);
        for (int k = 0; k < 4; ++k) {
            samples[i].element[k] = sample.element[k];
            samples[i].weight[k] = (float)sample.weight[k];
        }
    }
    return count;
}

ons_region ons_region_from_floats(const ons_regions *r, const float corners[ONS_AT_LEAST(4)]) {
    return ons_region_make(r, (const double[]){corners[0], corners[1], corners[2], corners[3]});
}
