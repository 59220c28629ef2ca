/* The gradient of RoiAlign's images: every bin gives its cotangent to the elements that it was made from. Inputs: the
 * cotangent, the regions, their images and, where maxima are taken, the images themselves. */
#include <string.h>

#include "kernels/common/region.h"

enum { COTANGENT, CORNERS, IMAGES, X };
enum { SHAPE = ONS_REGION_SCALE + 1 };

static ons_status *regions_of(const ons_operands *o, ons_regions *r, ons_type *x) {
    const ons_attribute *given = &o->attributes[SHAPE];
    if (given->count != 4) return ons_node_error(o, "attribute 'onstage_shape' must have four numbers");
    *x = ons_type_make(o->inputs[COTANGENT].dtype, ons_shape_make(4, given->ints));
    ONS_TRY_AT(ons_shape_check(&x->shape), "node '%s'", o->name);
    ONS_TRY(ons_regions_of(o, x, CORNERS, r));
    ons_type result = ons_regions_result(r, x->dtype);
    if (!ons_shape_equal(&result.shape, &o->inputs[COTANGENT].shape))
        return ons_node_error(o, "the cotangent does not have the shape of the result");
    if (r->maximum &&
        (!ons_has_input(o, X) || !ons_shape_equal(&o->inputs[X].shape, &x->shape) || o->inputs[X].dtype != x->dtype))
        return ons_node_error(o, "needs the images to find the maxima");
    return NULL;
}

static ons_status *roi_align_gradient_infer(ons_operands *o) {
    ons_regions r;
    return regions_of(o, &r, &o->outputs[0]);
}

static ons_cost roi_align_gradient_cost(const ons_operands *o) {
    int64_t ratio =
        ons_attribute_int(o, ONS_REGION_SAMPLING_RATIO) < 1 ? 1 : o->attributes[ONS_REGION_SAMPLING_RATIO].i;
    return (ons_cost){8 * (double)(ratio * ratio) * (double)ons_elements(&o->inputs[COTANGENT]), ons_operand_bytes(o)};
}

/* One bin of one channel; `x` is read only for maxima. */
static void spread(const ons_regions *r, const ons_region *region, int64_t bin, double cotangent, const double *x,
                   double *dx) {
    int64_t found = -1, count = region->rows * region->columns;
    double most = 0, weight = 0;
    if (region->columns == 0) return;
    for (int64_t i = 0; i < count; ++i) {
        ons_sample sample = ons_region_sample(r, region, bin / r->out_width, bin % r->out_width, i / region->columns,
                                              i % region->columns);
        for (int k = 0; k < 4; ++k) {
            double share = sample.weight[k];
            int64_t at = sample.element[k];
            if (!r->maximum) {
                dx[at] += share / (double)count * cotangent;
            } else if (found < 0 || share * x[at] > most) {
                found = at;
                most = share * x[at];
                weight = share;
            }
        }
    }
    if (found >= 0) dx[found] += weight * cotangent;
}

static void roi_align_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                         void *const *outputs) {
    ons_regions r;
    ons_type type;
    ons_status_free(regions_of(o, &r, &type)); /* has passed inference */
    const int64_t *images = inputs[IMAGES];
    const double *x = o->input_count > X ? inputs[X] : NULL;
    double *dx = outputs[0];
    memset(dx, 0, (size_t)ons_elements(&type) * sizeof *dx);
    for (int64_t i = 0, n = ons_elements(&o->inputs[COTANGENT]), bins = r.out_height * r.out_width; i < n; ++i) {
        int64_t number = i / (bins * r.channels), image = images[number];
        ons_region region = ons_region_make(&r, (const double *)inputs[CORNERS] + 4 * number);
        if (image < 0 || image >= r.batch) continue;
        int64_t plane = (image * r.channels + i / bins % r.channels) * r.height * r.width;
        spread(&r, &region, i % bins, ((const double *)inputs[COTANGENT])[i], x == NULL ? NULL : x + plane, dx + plane);
    }
}

static ons_status *roi_align_gradient_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    void *memory;
    ons_type x;
    ONS_TRY(ons_require_float32(o));
    if (o->inputs[CORNERS].dtype != ONS_FLOAT32) return ons_node_error(o, "regions are not float32");
    ONS_TRY(ons_prepare_state(p, sizeof(ons_regions), &memory));
    return regions_of(o, memory, &x);
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

#define THREE_REGIONS                                                                                                  \
    {                                                                                                                  \
        .dtype = ONS_FLOAT32, .shape = ONS_DIMS(3, 4), .value_count = 12, .values = {                                  \
            0.3,                                                                                                       \
            1.2,                                                                                                       \
            6.4,                                                                                                       \
            7.1,                                                                                                       \
            -3,                                                                                                        \
            2.5,                                                                                                       \
            4.7,                                                                                                       \
            11,                                                                                                        \
            5,                                                                                                         \
            5,                                                                                                         \
            5.2,                                                                                                       \
            5.1                                                                                                        \
        }                                                                                                              \
    }
#define THEIR_IMAGES                                                                                                   \
    {                                                                                                                  \
        .dtype = ONS_INT64, .shape = ONS_DIMS(3), .value_count = 3, .values = { 1, 0, 1 }                              \
    }
#define BINS(HEIGHT, WIDTH) ONS_SET_INT("output_height", HEIGHT), ONS_SET_INT("output_width", WIDTH)

static const ons_case roi_align_gradient_cases[] = {
    {.name = "mean",
     .inputs = {ONS_F32(3, 9, 3, 2), THREE_REGIONS, THEIR_IMAGES},
     .settings = {BINS(3, 2), ONS_SET_INTS("onstage_shape", 2, 9, 9, 8)},
     .tolerance = 2e-6,
     .flops = 1296},
    {.name = "maximum",
     .inputs = {ONS_F32(3, 9, 3, 2), THREE_REGIONS, THEIR_IMAGES, ONS_F32(2, 9, 9, 8)},
     .settings = {BINS(3, 2), ONS_SET_INTS("onstage_shape", 2, 9, 9, 8), ONS_SET_STRING("mode", "max")},
     .tolerance = 2e-6,
     .flops = 1296},
    {.name = "no_images",
     .inputs = {ONS_F32(3, 9, 3, 2), THREE_REGIONS, THEIR_IMAGES},
     .settings = {BINS(3, 2), ONS_SET_INTS("onstage_shape", 2, 9, 9, 8), ONS_SET_STRING("mode", "max")},
     .error = "needs the images"},
    {.name = "misfit",
     .inputs = {ONS_F32(3, 9, 3, 3), THREE_REGIONS, THEIR_IMAGES},
     .settings = {BINS(3, 2), ONS_SET_INTS("onstage_shape", 2, 9, 9, 8)},
     .error = "shape of the result"},
    {.name = "large",
     .inputs = {ONS_F32(128, 256, 7, 7), ONS_F32_IN(0, 50, 128, 4), ONS_RANDOM(ONS_INT64, 0, 1, 128)},
     .settings = {BINS(7, 7), ONS_SET_INT("sampling_ratio", 2), ONS_SET_INTS("onstage_shape", 2, 256, 50, 68)},
     .tolerance = 1e-5,
     .flops = 51380224,
     .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(roi_align_gradient, "RoiAlignGradient", ONS_INTERNAL, ONS_ARITY(3, 4, 1, 1),
                    ONS_ATTRIBUTES(ONS_REGION_ATTRIBUTES, ONS_REQUIRED_ATTRIBUTE("onstage_shape", ONS_ATTRIBUTE_INTS)),
                    ONS_INFER(roi_align_gradient_infer), ONS_COST(roi_align_gradient_cost),
                    ONS_NOT_DIFFERENTIABLE("a gradient"), ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR, ONS_NO_ALIASES,
                    ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(roi_align_gradient_reference),
                    ONS_CPU_KERNEL(roi_align_gradient_prepare, roi_align_gradient_run),
                    ONS_CUDA_KERNEL(roi_align_gradient_prepare, ons_cuda_roi_align_gradient), roi_align_gradient_cases);
