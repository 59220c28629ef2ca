/* RoiAlign: regions of images, brought to one size: the mean, or the largest weighted element, of samples. */
#include <math.h>
#include <string.h>

#include "graph/upgrade.h"
#include "kernels/common/region.h"

enum { X, CORNERS, IMAGES };

static ons_status *roi_align_infer(ons_operands *o) {
    ons_regions r;
    ONS_TRY(ons_regions_of(o, &o->inputs[X], CORNERS, &r));
    o->outputs[0] = ons_regions_result(&r, o->inputs[X].dtype);
    return NULL;
}

/* Four elements for each sample; one sample in a bin where data decide how many there are. */
static ons_cost roi_align_cost(const ons_operands *o) {
    double ratio = fmax((double)ons_attribute_int(o, ONS_REGION_SAMPLING_RATIO), 1);
    return (ons_cost){8 * ratio * ratio * (double)ons_elements(&o->outputs[0]), ons_operand_bytes(o)};
}

/* One bin of one channel. */
static double pool(const ons_regions *r, const ons_region *region, int64_t y, int64_t x, const double *plane) {
    double sum = 0, most = 0;
    int64_t count = region->rows * region->columns;
    for (int64_t i = 0; i < count; ++i) {
        ons_sample sample = ons_region_sample(r, region, y, x, i / region->columns, i % region->columns);
        for (int k = 0; k < 4; ++k) {
            double part = sample.weight[k] * plane[sample.element[k]];
            sum += part;
            most = (i == 0 && k == 0) || part > most ? part : most;
        }
    }
    return r->maximum ? most : count > 0 ? sum / (double)count : 0;
}

static void roi_align_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                void *const *outputs) {
    ons_regions r;
    ons_status_free(ons_regions_of(o, &o->inputs[X], CORNERS, &r)); /* has passed inference */
    const int64_t *images = inputs[IMAGES];
    for (int64_t i = 0, n = ons_elements(&o->outputs[0]), bins = r.out_height * r.out_width; i < n; ++i) {
        int64_t number = i / (bins * r.channels), image = images[number], bin = i % bins;
        ons_region region = ons_region_make(&r, (const double *)inputs[CORNERS] + 4 * number);
        bool valid = image >= 0 && image < r.batch;
        if (!valid) ons_reference_fault(step, ONS_REGION_PROBLEM, number, image);
        const double *plane =
            (const double *)inputs[X] + ((valid ? image : 0) * r.channels + i / bins % r.channels) * r.height * r.width;
        ((double *)outputs[0])[i] = valid ? pool(&r, &region, bin / r.out_width, bin % r.out_width, plane) : 0;
    }
}

static ons_status *roi_align_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    void *memory;
    ONS_TRY(ons_require_float32(o));
    if (o->inputs[CORNERS].dtype != ONS_FLOAT32) return ons_node_error(o, "regions are not float32");
    ONS_TRY(ons_prepare_state(p, sizeof(ons_regions), &memory));
    return ons_regions_of(o, &o->inputs[X], CORNERS, memory);
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
            *launch->fault = (ons_fault){ONS_REGION_PROBLEM, i, images[i]};
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

/* The tensor decides where a maximum is taken from, and nothing else. */
static ons_status *roi_align_gradient(ons_gradient *g) {
    const ons_operands *o = g->operands;
    int64_t shape[4];
    memcpy(shape, o->inputs[X].shape.dims, sizeof shape);
    ons_attribute attributes[ONS_REGION_SCALE + 2];
    memcpy(attributes, o->attributes, (ONS_REGION_SCALE + 1) * sizeof *attributes);
    attributes[ONS_REGION_SCALE + 1] = (ons_attribute){.kind = ONS_ATTRIBUTE_INTS, .count = 4, .ints = shape};
    bool maximum = strcmp(ons_attribute_string(o, ONS_REGION_MODE), "max") == 0;
    ons_value_id inputs[] = {g->cotangents[0], ons_gradient_input(g, CORNERS), ons_gradient_input(g, IMAGES),
                             maximum ? ons_gradient_input(g, X) : (ons_value_id)ONS_NONE};
    ons_build_node_like(g->builder, &ons_op_roi_align_gradient, (ons_inputs){inputs, maximum ? 4 : 3}, attributes, 1,
                        NULL, &g->gradients[X]);
    return NULL;
}

/* Up to opset 15 there was one way to place a region. */
static ons_status *roi_align_upgrade(ons_upgrade *u) {
    if (u->opset >= 16) return NULL;
    return ons_upgrade_set(u, "coordinate_transformation_mode",
                           (ons_attribute){.kind = ONS_ATTRIBUTE_STRING, .s = "output_half_pixel"});
}

#define CORNERS_OF(...)                                                                                                \
    {                                                                                                                  \
        .dtype = ONS_FLOAT32, .shape = ONS_DIMS(3, 4), .value_count = 12, .values = { __VA_ARGS__ }                    \
    }
#define THREE_REGIONS CORNERS_OF(0.3, 1.2, 6.4, 7.1, -3, 2.5, 4.7, 11, 5, 5, 5.2, 5.1)
#define THEIR_IMAGES                                                                                                   \
    {                                                                                                                  \
        .dtype = ONS_INT64, .shape = ONS_DIMS(3), .value_count = 3, .values = { 1, 0, 1 }                              \
    }
#define BINS(HEIGHT, WIDTH) ONS_SET_INT("output_height", HEIGHT), ONS_SET_INT("output_width", WIDTH)

static const ons_case roi_align_cases[] = {
    {.name = "mean",
     .inputs = {ONS_F32(2, 3, 9, 8), THREE_REGIONS, THEIR_IMAGES},
     .settings = {BINS(3, 2)},
     .tolerance = 1e-6,
     .flops = 432},
    {.name = "ratio",
     .inputs = {ONS_F32(2, 3, 9, 8), THREE_REGIONS, THEIR_IMAGES},
     .settings = {BINS(3, 2), ONS_SET_INT("sampling_ratio", 2), ONS_SET_FLOAT("spatial_scale", 0.5)},
     .tolerance = 1e-6,
     .flops = 1728},
    {.name = "output_half_pixel",
     .inputs = {ONS_F32(2, 3, 9, 8), THREE_REGIONS, THEIR_IMAGES},
     .settings = {BINS(2, 2), ONS_SET_STRING("coordinate_transformation_mode", "output_half_pixel")},
     .tolerance = 1e-6,
     .flops = 288},
    {.name = "maximum",
     .inputs = {ONS_F32(2, 3, 9, 8), THREE_REGIONS, THEIR_IMAGES},
     .settings = {BINS(3, 2), ONS_SET_STRING("mode", "max"), ONS_SET_INT("sampling_ratio", 2)},
     .tolerance = 1e-6,
     .flops = 1728},
    {.name = "threads",
     .inputs = {ONS_F32(2, 40, 12, 13), THREE_REGIONS, THEIR_IMAGES},
     .settings = {BINS(7, 7), ONS_SET_INT("sampling_ratio", 2)},
     .tolerance = 1e-6,
     .flops = 188160},
    {.name = "nowhere",
     .inputs = {ONS_F32(2, 1, 4, 4), CORNERS_OF(NAN, 0, 1, 1, -1e30, -1e30, 1e30, 1e30, 2, 2, 1, 1), THEIR_IMAGES},
     .settings = {ONS_SET_INT("sampling_ratio", 1)},
     .tolerance = 1e-6,
     .flops = 24,
     .no_gradient = true},
    {.name = "none",
     .inputs = {ONS_F32(2, 3, 9, 8), ONS_F32(0, 4), {.dtype = ONS_INT64, .shape = {1, {0}}}},
     .flops = 0},
    {.name = "misfit",
     .inputs = {ONS_F32(2, 3, 9, 8), ONS_F32(2, 4), ONS_RANDOM(ONS_INT64, 0, 1, 3)},
     .error = "do not fit"},
    {.name = "unknown",
     .inputs = {ONS_F32(2, 3, 9, 8), THREE_REGIONS, THEIR_IMAGES},
     .settings = {ONS_SET_STRING("mode", "sum")},
     .error = "unknown mode"},
    {.name = "no_bins",
     .inputs = {ONS_F32(2, 3, 9, 8), THREE_REGIONS, THEIR_IMAGES},
     .settings = {BINS(0, 2)},
     .error = "bins"},
    {.name = "large",
     .inputs = {ONS_F32(2, 256, 50, 68), ONS_F32_IN(0, 50, 128, 4), ONS_RANDOM(ONS_INT64, 0, 1, 128)},
     .settings = {BINS(7, 7), ONS_SET_INT("sampling_ratio", 2)},
     .tolerance = 1e-6,
     .flops = 51380224,
     .benchmark = true},
    {.name = "outside_in_data",
     .inputs = {ONS_F32(1, 1, 4, 4),
                ONS_F32(1, 4),
                {.dtype = ONS_INT64, .shape = ONS_DIMS(1), .value_count = 1, .values = {3}}},
     .flops = -1,
     .fault = "image"},
    {.name = "outside_in_data_double",
     .inputs = {ONS_RANDOM(ONS_FLOAT64, -1, 1, 1, 1, 4, 4),
                ONS_RANDOM(ONS_FLOAT64, -1, 1, 1, 4),
                {.dtype = ONS_INT64, .shape = ONS_DIMS(1), .value_count = 1, .values = {3}}},
     .flops = -1,
     .fault = "image"},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(roi_align, "RoiAlign", ONS_ONNX(10, ONS_NEWEST), ONS_ARITY(3, 3, 1, 1),
                    ONS_ATTRIBUTES(ONS_REGION_ATTRIBUTES), ONS_INFER(roi_align_infer), ONS_COST(roi_align_cost),
                    ONS_GRADIENT_RULE(roi_align_gradient, ONS_INPUT_BIT(X)),
                    ONS_SAVES(ONS_INPUT_BIT(X) | ONS_INPUT_BIT(CORNERS) | ONS_INPUT_BIT(IMAGES), 0), ONS_PLAIN_OPERATOR,
                    ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_FORMS(roi_align_upgrade, ONS_NO_PATTERNS, NULL),
                    ONS_REFERENCE(roi_align_reference), ONS_CPU_KERNEL(roi_align_prepare, roi_align_run),
                    ONS_CUDA_KERNEL(roi_align_prepare, ons_cuda_roi_align), roi_align_cases);
