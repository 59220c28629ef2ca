/* Where the elements of a resized tensor come from: Resize, Upsample and their gradient.
 *
 * All three declare the same attributes and have the inputs tensor, roi, scales, sizes; of the gradient the tensor is
 * the cotangent and the attribute onstage_shape says what was resized.
 */
#ifndef ONSTAGE_KERNELS_RESAMPLING_RESAMPLE_H
#define ONSTAGE_KERNELS_RESAMPLING_RESAMPLE_H

#include "kernels/common/layout/channels.h"
#include "kernels/resampling/separable.h"

enum { ONS_RESAMPLE_X, ONS_RESAMPLE_ROI, ONS_RESAMPLE_SCALES, ONS_RESAMPLE_SIZES };

enum {
    ONS_RESAMPLE_ANTIALIAS,
    ONS_RESAMPLE_AXES,
    ONS_RESAMPLE_COORDINATES,
    ONS_RESAMPLE_CUBIC_COEFFICIENT,
    ONS_RESAMPLE_EXCLUDE_OUTSIDE,
    ONS_RESAMPLE_EXTRAPOLATION,
    ONS_RESAMPLE_ASPECT_RATIO,
    ONS_RESAMPLE_MODE,
    ONS_RESAMPLE_NEAREST_MODE,
    ONS_RESAMPLE_SHAPE,
};
#define ONS_RESAMPLE_ATTRIBUTES                                                                                        \
    ONS_INT_ATTRIBUTE("antialias", 0), ONS_OPTIONAL_ATTRIBUTE("axes", ONS_ATTRIBUTE_INTS),                             \
        ONS_STRING_ATTRIBUTE("coordinate_transformation_mode", "half_pixel"),                                          \
        ONS_FLOAT_ATTRIBUTE("cubic_coeff_a", -0.75), ONS_INT_ATTRIBUTE("exclude_outside", 0),                          \
        ONS_FLOAT_ATTRIBUTE("extrapolation_value", 0), ONS_STRING_ATTRIBUTE("keep_aspect_ratio_policy", "stretch"),    \
        ONS_STRING_ATTRIBUTE("mode", "nearest"), ONS_STRING_ATTRIBUTE("nearest_mode", "round_prefer_floor"),           \
        ONS_OPTIONAL_ATTRIBUTE("onstage_shape", ONS_ATTRIBUTE_INTS)

typedef enum ons_resample_mode { ONS_NEAREST, ONS_LINEAR, ONS_CUBIC } ons_resample_mode;

typedef enum ons_resample_coordinates {
    ONS_HALF_PIXEL,
    ONS_PYTORCH_HALF_PIXEL,
    ONS_ALIGN_CORNERS,
    ONS_ASYMMETRIC,
    ONS_CROP_AND_RESIZE,
    ONS_HALF_PIXEL_SYMMETRIC,
    ONS_HALF_PIXEL_FOR_NEAREST,
} ons_resample_coordinates;

typedef enum ons_nearest_mode {
    ONS_ROUND_PREFER_FLOOR,
    ONS_ROUND_PREFER_CEIL,
    ONS_ROUND_FLOOR,
    ONS_ROUND_CEIL,
    ONS_ROUND_SIMPLE, /* of the oldest opsets: down where an axis grows, up where it shrinks */
} ons_nearest_mode;

typedef struct ons_resample_axis {
    int64_t input, output;
    double scale;
    double roi_start, roi_end; /* shares of the axis */
    bool changes;
} ons_resample_axis;

typedef struct ons_resampling {
    ons_shape input, output;
    ons_resample_mode mode;
    ons_resample_coordinates coordinates;
    ons_nearest_mode rounding;
    double cubic; /* the coefficient a */
    double fill;
    bool antialias, exclude_outside;
    ons_resample_axis axes[ONS_RANK_MAX];
} ons_resampling;

/* From attributes and constant inputs, for a tensor of that shape. */
ons_status *ons_resampling_of(const ons_operands *o, const ons_shape *input, ons_resampling *resampling);
ons_status *ons_resampling_of_gradient(const ons_operands *o, ons_resampling *resampling);

/* The map of every axis. */
ons_status *ons_resampling_maps(const ons_resampling *r, ons_arena *arena,
                                ons_axis_map maps[ONS_AT_LEAST(ONS_RANK_MAX)]);

/* Multiplications and additions, axis by axis. */
ons_cost ons_resampling_cost(const ons_operands *o, const ons_resampling *r);

/* Plans the maps, transposed for a gradient, in the layout of the first input. */
ons_status *ons_resampling_prepare(ons_prepare *p, const ons_resampling *r, bool transposed);
void ons_resampling_run(const ons_launch *launch);
ons_status *ons_cuda_resampling_prepare(ons_prepare *p, const ons_resampling *r, bool transposed);

/* ---- what Resize and Upsample share beyond that */
ons_status *ons_resize_infer(ons_operands *o);
ons_cost ons_resize_cost(const ons_operands *o);
void ons_resize_reference(const ons_operands *o, const ons_step *step, const void *const *inputs, void *const *outputs);
ons_status *ons_resize_prepare(ons_prepare *p);
ons_status *ons_cuda_resize_prepare(ons_prepare *p);
ons_status *ons_resize_gradient(ons_gradient *g);

/* For cases: a known float32 vector. */
#define ONS_KNOWN_FLOATS(...)                                                                                          \
    {                                                                                                                  \
        .dtype = ONS_FLOAT32, .shape = {1, {sizeof((double[]){__VA_ARGS__}) / sizeof(double)}},                        \
        .value_count = sizeof((double[]){__VA_ARGS__}) / sizeof(double), .values = {__VA_ARGS__}, .constant = true     \
    }

#endif
