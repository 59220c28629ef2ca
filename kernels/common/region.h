/* Regions of interest: what RoiAlign and its gradient share.
 *
 * A region is cut into output_height × output_width bins; a bin is looked at in a grid of samples, each of which sees
 * the four elements around it.
 */
#ifndef ONSTAGE_KERNELS_COMMON_REGION_H
#define ONSTAGE_KERNELS_COMMON_REGION_H

#include "kernels/common/kernel.h"

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
ons_region ons_region_make(const ons_regions *r, const double corners[static 4]);

/* What sample (row, column) of bin (y, x) sees: elements of a plane and weights; all 0 outside of the image. */
typedef struct ons_sample {
    int64_t element[4];
    double weight[4];
} ons_sample;
ons_sample ons_region_sample(const ons_regions *r, const ons_region *region, int64_t y, int64_t x, int64_t row,
                             int64_t column);

/* For kernels: channels in groups, which share what is known of a few samples at a time. */
enum { ONS_REGION_GROUP = 8, ONS_REGION_SAMPLES = 16 };

typedef struct ons_float_sample {
    int64_t element[4];
    float weight[4];
} ons_float_sample;

/* Samples [first, …) of a bin, at most ONS_REGION_SAMPLES; returns how many. */
int64_t ons_region_collect(const ons_regions *r, const ons_region *region, int64_t bin, int64_t first,
                           ons_float_sample samples[static ONS_REGION_SAMPLES]);
ons_region ons_region_from_floats(const ons_regions *r, const float corners[static 4]);

#endif
