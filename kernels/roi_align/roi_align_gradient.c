/* The gradient of RoiAlign's images: every bin gives its cotangent to the elements that it was made from. Inputs: the
 * cotangent, the regions, their images and, where maxima are taken, the images themselves. */
#include "kernels/roi_align/roi_align_gradient.h"

#include <string.h>

#include "kernels/roi_align/region.h"

enum { SHAPE = ONS_REGION_SCALE + 1 };

ons_status *ons_roi_align_gradient_regions_of(const ons_operands *o, ons_regions *r, ons_type *x) {
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
    return ons_roi_align_gradient_regions_of(o, &r, &o->outputs[0]);
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
    ons_resolved(ons_roi_align_gradient_regions_of(o, &r, &type));
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

ONS_DEFINE_OPERATOR(roi_align_gradient, "RoiAlignGradient", ONS_INTERNAL, ONS_ARITY(3, 4, 1, 1),
                    ONS_ATTRIBUTES(ONS_REGION_ATTRIBUTES, ONS_REQUIRED_ATTRIBUTE("onstage_shape", ONS_ATTRIBUTE_INTS)),
                    ONS_INFER(roi_align_gradient_infer), ONS_COST(roi_align_gradient_cost),
                    ONS_NOT_DIFFERENTIABLE("a gradient"), ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR, ONS_NO_ALIASES,
                    ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(roi_align_gradient_reference));
