/* RoiAlign: regions of images, brought to one size: the mean, or the largest weighted element, of samples. */
#include "kernels/roi_align/roi_align.h"

#include <math.h>
#include <string.h>

#include "graph/upgrade.h"
#include "kernels/operators.h"
#include "kernels/roi_align/region.h"

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
    ons_resolved(ons_regions_of(o, &o->inputs[X], CORNERS, &r));
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

ONS_DEFINE_OPERATOR(roi_align, "RoiAlign", ONS_ONNX(10, ONS_NEWEST), ONS_ARITY(3, 3, 1, 1),
                    ONS_ATTRIBUTES(ONS_REGION_ATTRIBUTES), ONS_INFER(roi_align_infer), ONS_COST(roi_align_cost),
                    ONS_GRADIENT_RULE(roi_align_gradient, ONS_INPUT_BIT(X)),
                    ONS_SAVES(ONS_INPUT_BIT(X) | ONS_INPUT_BIT(CORNERS) | ONS_INPUT_BIT(IMAGES), 0),
                    ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ADDRESSES, 0), ONS_NO_ALIASES, ONS_PLAIN_LAYOUT,
                    ONS_FORMS(roi_align_upgrade, ONS_NO_PATTERNS, NULL), ONS_REFERENCE(roi_align_reference));
