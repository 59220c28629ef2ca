/* Regions of interest: what RoiAlign and its gradient share.
 *
 * A region is cut into output_height × output_width bins; a bin is looked at in a grid of samples, each of which sees
 * the four elements around it.
 */
#ifndef ONSTAGE_KERNELS_ROI_ALIGN_REGION_H
#define ONSTAGE_KERNELS_ROI_ALIGN_REGION_H

#include <math.h>

#include "base/at_least.h"
#include "base/host_device.h"
#include "kernels/common/operator/kernel.h"

enum {
    ONS_REGION_COORDINATES,
    ONS_REGION_MODE,
    ONS_REGION_HEIGHT,
    ONS_REGION_WIDTH,
    ONS_REGION_SAMPLING_RATIO,
    ONS_REGION_SCALE,
};
#define ONS_REGION_ATTRIBUTES                                                                                          \
    ONS_STRING_ATTRIBUTE("coordinate_transformation_mode", "half_pixel"), ONS_STRING_ATTRIBUTE("mode", "avg"),         \
        ONS_INT_ATTRIBUTE("output_height", 1), ONS_INT_ATTRIBUTE("output_width", 1),                                   \
        ONS_INT_ATTRIBUTE("sampling_ratio", 0), ONS_FLOAT_ATTRIBUTE("spatial_scale", 1)

/* What a fault of a region is called. */
#define ONS_REGION_PROBLEM "a region lies in no image of the batch"

typedef struct ons_regions {
    bool half_pixel, maximum;
    int64_t sampling_ratio; /* 0: as many samples as a bin has elements */
    double scale;
    int64_t batch, channels, height, width; /* of the image */
    int64_t count, out_height, out_width;
} ons_regions;

/* `x` is the image, the regions are at inputs `first` (count, 4) and `first` + 1 (count). */
ons_status *ons_regions_of(const ons_operands *o, const ons_type *x, uint32_t first, ons_regions *r);
ons_type ons_regions_result(const ons_regions *r, ons_dtype dtype);

/* One region in the image's coordinates. */
typedef struct ons_region {
    double top, left, bin_height, bin_width;
    int64_t rows, columns; /* samples of a bin */
} ons_region;

/* What sample (row, column) of bin (y, x) sees: elements of a plane and weights; all 0 outside of the image. */
typedef struct ons_sample {
    int64_t element[4];
    double weight[4];
} ons_sample;

/* A region that reaches far beyond any image is looked at no more closely than this. */
enum { ONS_REGION_SAMPLES_MAX = 4096 };

ONS_HOST_DEVICE static inline int64_t ons_region_samples_of(const ons_regions *r, double extent, int64_t bins,
                                                            int64_t side) {
    double samples = ceil(extent / (double)bins), most = fmin((double)ONS_REGION_SAMPLES_MAX, 4 * (double)side + 16);
    if (r->sampling_ratio > 0) return r->sampling_ratio;
    return !(samples > 0) ? 0 : (int64_t)fmin(samples, most); /* 0 for NaN */
}

ONS_HOST_DEVICE static inline ons_region ons_region_make(const ons_regions *r, const double corners[ONS_AT_LEAST(4)]) {
    double shift = r->half_pixel ? 0.5 : 0;
    double left = corners[0] * r->scale - shift, top = corners[1] * r->scale - shift;
    double width = corners[2] * r->scale - shift - left, height = corners[3] * r->scale - shift - top;
    if (!r->half_pixel) { /* no region is smaller than an element */
        width = fmax(width, 1.0);
        height = fmax(height, 1.0);
    }
    ons_region region = {top,
                         left,
                         height / (double)r->out_height,
                         width / (double)r->out_width,
                         ons_region_samples_of(r, height, r->out_height, r->height),
                         ons_region_samples_of(r, width, r->out_width, r->width)};
    return region;
}

/* The two elements around a position along an axis, and the share of the second; false outside. */
ONS_HOST_DEVICE static inline bool ons_region_find_pair(double position, int64_t length, int64_t *low, int64_t *high,
                                                        double *share) {
    if (!(position >= -1 && position <= (double)length)) return false;
    position = fmax(position, 0.0);
    *low = (int64_t)position;
    *high = *low + 1;
    *share = position - (double)*low;
    if (*low >= length - 1) {
        *low = *high = length - 1;
        *share = 0;
    }
    return true;
}

ONS_HOST_DEVICE static inline ons_sample ons_region_sample(const ons_regions *r, const ons_region *region, int64_t y,
                                                           int64_t x, int64_t row, int64_t column) {
    double bin_row = (double)y + ((double)row + 0.5) / (double)region->rows;
    double bin_column = (double)x + ((double)column + 0.5) / (double)region->columns;
    int64_t up, down, left, right;
    double below, beside;
    ons_sample sample = {{0, 0, 0, 0}, {0, 0, 0, 0}};
    if (!ons_region_find_pair(region->top + bin_row * region->bin_height, r->height, &up, &down, &below) ||
        !ons_region_find_pair(region->left + bin_column * region->bin_width, r->width, &left, &right, &beside))
        return sample;
    ons_sample seen = {{up * r->width + left, up * r->width + right, down * r->width + left, down * r->width + right},
                       {(1 - below) * (1 - beside), (1 - below) * beside, below * (1 - beside), below * beside}};
    return seen;
}

/* For kernels: channels in groups, which share what is known of a few samples at a time. */
enum { ONS_REGION_GROUP = 8, ONS_REGION_SAMPLES = 16 };

typedef struct ons_float_sample {
    int64_t element[4];
    float weight[4];
} ons_float_sample;

/* Samples [first, …) of a bin, at most ONS_REGION_SAMPLES; returns how many. */
int64_t ons_region_collect(const ons_regions *r, const ons_region *region, int64_t bin, int64_t first,
                           ons_float_sample samples[ONS_AT_LEAST(ONS_REGION_SAMPLES)]);
ons_region ons_region_from_floats(const ons_regions *r, const float corners[ONS_AT_LEAST(4)]);

#endif
