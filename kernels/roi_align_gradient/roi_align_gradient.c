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

#define DEFINE_SPREAD(NAME, REAL)                                                                                      \
    /* One bin of one channel; `x` is read only for maxima. */                                                         \
    static void NAME(const ons_regions *r, const ons_region *region, int64_t bin, REAL cotangent, const REAL *x,       \
                     REAL *dx) {                                                                                       \
        int64_t found = -1, count = region->rows * region->columns;                                                    \
        REAL most = 0, weight = 0;                                                                                     \
        for (int64_t i = 0; i < count; ++i) {                                                                          \
            ons_sample sample = ons_region_sample(r, region, bin / r->out_width, bin % r->out_width,                   \
                                                  i / region->columns, i % region->columns);                           \
            for (int k = 0; k < 4; ++k) {                                                                              \
                REAL share = (REAL)sample.weight[k];                                                                   \
                if (!r->maximum) {                                                                                     \
                    dx[sample.element[k]] += share / (REAL)count * cotangent;                                          \
                } else if (found < 0 || share * x[sample.element[k]] > most) {                                         \
                    found = sample.element[k];                                                                         \
                    most = share * x[found];                                                                           \
                    weight = share;                                                                                    \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
        if (found >= 0) dx[found] += weight * cotangent;                                                               \
    }

DEFINE_SPREAD(spread_double, double)
DEFINE_SPREAD(spread_float, float)

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
        spread_double(&r, &region, i % bins, ((const double *)inputs[COTANGENT])[i], x == NULL ? NULL : x + plane,
                      dx + plane);
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

/* One channel of all images, region after region. */
static void spread_channel(const ons_regions *r, int64_t channel, const ons_launch *launch) {
    const float *dy = launch->inputs[COTANGENT], *corners = launch->inputs[CORNERS];
    const float *x = r->maximum ? launch->inputs[X] : NULL;
    const int64_t *images = launch->inputs[IMAGES];
    float *dx = launch->outputs[0];
    int64_t bins = r->out_height * r->out_width, pixels = r->height * r->width;
    for (int64_t image = 0; image < r->batch; ++image)
        memset(dx + (image * r->channels + channel) * pixels, 0, (size_t)pixels * sizeof *dx);
    for (int64_t i = 0; i < r->count; ++i) {
        double ends[4] = {corners[4 * i], corners[4 * i + 1], corners[4 * i + 2], corners[4 * i + 3]};
        ons_region region = ons_region_make(r, ends);
        if (images[i] < 0 || images[i] >= r->batch) continue;
        int64_t plane = (images[i] * r->channels + channel) * pixels;
        for (int64_t bin = 0; bin < bins; ++bin)
            spread_float(r, &region, bin, dy[(i * r->channels + channel) * bins + bin], x == NULL ? NULL : x + plane,
                         dx + plane);
    }
}

static void roi_align_gradient_run(const ons_launch *launch) {
    const ons_regions *r = launch->state;
#pragma omp parallel for schedule(                                                                                     \
    static) if (r->channels * (r->count * r->out_height * r->out_width + r->batch * r->height * r->width) > 512)
    for (int64_t channel = 0; channel < r->channels; ++channel) spread_channel(r, channel, launch);
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
     .inputs = {ONS_F32(3, 5, 3, 2), THREE_REGIONS, THEIR_IMAGES},
     .settings = {BINS(3, 2), ONS_SET_INTS("onstage_shape", 2, 5, 9, 8)},
     .tolerance = 2e-6,
     .flops = 720},
    {.name = "maximum",
     .inputs = {ONS_F32(3, 5, 3, 2), THREE_REGIONS, THEIR_IMAGES, ONS_F32(2, 5, 9, 8)},
     .settings = {BINS(3, 2), ONS_SET_INTS("onstage_shape", 2, 5, 9, 8), ONS_SET_STRING("mode", "max")},
     .tolerance = 2e-6,
     .flops = 720},
    {.name = "no_images",
     .inputs = {ONS_F32(3, 5, 3, 2), THREE_REGIONS, THEIR_IMAGES},
     .settings = {BINS(3, 2), ONS_SET_INTS("onstage_shape", 2, 5, 9, 8), ONS_SET_STRING("mode", "max")},
     .error = "needs the images"},
    {.name = "misfit",
     .inputs = {ONS_F32(3, 5, 3, 3), THREE_REGIONS, THEIR_IMAGES},
     .settings = {BINS(3, 2), ONS_SET_INTS("onstage_shape", 2, 5, 9, 8)},
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
                    ONS_NO_CUDA_KERNEL("this build has no CUDA"), roi_align_gradient_cases);
