/* MaxRoiPool: the maxima of a grid of bins over each region of interest; 0 where a bin is empty. Output 1 is there for
 * the gradient: where in its plane each maximum was found, -1 where nothing was. */
#include "kernels/max_roi_pool/max_roi_pool.h"

#include "kernels/max_roi_pool/roi_window.h"
#include "kernels/operators.h"

enum { POOLED_SHAPE, SPATIAL_SCALE };

ons_status *ons_max_roi_pool_find_sizes(const ons_operands *o, ons_roi_sizes *s) {
    const ons_shape *x = &o->inputs[0].shape, *regions = &o->inputs[1].shape;
    const ons_attribute *pooled = &o->attributes[POOLED_SHAPE];
    if (x->rank != 4 || regions->rank != 2 || regions->dims[1] != 5)
        return ons_node_error(o, "needs an input (N, C, H, W) and regions (number, 5)");
    if (!ons_dtype_is_float(o->inputs[0].dtype) || o->inputs[1].dtype != o->inputs[0].dtype)
        return ons_node_error(o, "input and regions must be floats of one type");
    if (pooled->count != 2 || pooled->ints[0] < 1 || pooled->ints[1] < 1)
        return ons_node_error(o, "attribute 'pooled_shape' must be two sizes");
    if (x->dims[2] > INT32_MAX / (x->dims[3] > 0 ? x->dims[3] : 1))
        return ons_node_error(o, "a plane of %lld × %lld is too large", (long long)x->dims[2], (long long)x->dims[3]);
    *s = (ons_roi_sizes){x->dims[0],       x->dims[1],      x->dims[2],      x->dims[3],
                         regions->dims[0], pooled->ints[0], pooled->ints[1], ons_attribute_float(o, SPATIAL_SCALE)};
    return NULL;
}

static ons_status *max_roi_pool_infer(ons_operands *o) {
    ons_roi_sizes s;
    ONS_TRY(ons_max_roi_pool_find_sizes(o, &s));
    ons_shape shape = {.rank = 4, .dims = {s.regions, s.channels, s.rows, s.columns}};
    ONS_TRY_AT(ons_shape_check(&shape), "node '%s'", o->name);
    o->outputs[0] = ons_type_make(o->inputs[0].dtype, shape);
    if (o->output_count > 1) o->outputs[1] = ons_type_make(ONS_INT32, shape);
    return NULL;
}

static void max_roi_pool_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                   void *const *outputs) {
    ons_roi_sizes s = {0};
    ons_resolved(ons_max_roi_pool_find_sizes(o, &s));
    const double *x = inputs[0], *regions = inputs[1];
    double *y = outputs[0];
    int64_t *positions = o->output_count > 1 ? outputs[1] : NULL;
    int64_t bins = s.rows * s.columns * s.channels;
    for (int64_t i = 0; i < s.regions * bins; ++i) {
        int64_t column = i % s.columns, row = i / s.columns % s.rows, channel = i / s.columns / s.rows % s.channels;
        const double *region = regions + i / s.columns / s.rows / s.channels * 5;
        int64_t top, bottom, left, right, best = -1;
        ons_roi_span(region[2], region[4], s.scale, row, s.rows, s.height, &top, &bottom);
        ons_roi_span(region[1], region[3], s.scale, column, s.columns, s.width, &left, &right);
        bool inside = region[0] >= 0 && region[0] < (double)s.batch;
        if (!inside) ons_reference_fault(step, ONS_ROI_PROBLEM, i / bins, i / bins);
        const double *plane = x + (inside ? (int64_t)region[0] * s.channels + channel : 0) * s.height * s.width;
        for (int64_t at = top * s.width; inside && at < bottom * s.width; at += s.width)
            for (int64_t k = left; k < right; ++k)
                if (best < 0 || plane[at + k] > plane[best]) best = at + k;
        y[i] = best < 0 ? 0 : plane[best];
        if (positions != NULL) positions[i] = best;
    }
}

static ons_status *max_roi_pool_gradient(ons_gradient *g) {
    const ons_shape *x = &g->operands->inputs[0].shape;
    g->gradients[0] = ons_build(g->builder, &ons_op_max_roi_pool_gradient,
                                ONS_IN(g->cotangents[0], ons_gradient_input(g, 1), ons_gradient_output(g, 1)),
                                ONS_WITH(ONS_AT_INTS(0, x->rank, x->dims)));
    return NULL;
}

ONS_DEFINE_OPERATOR(max_roi_pool, "MaxRoiPool", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(2, 2, 1, 2),
                    ONS_ATTRIBUTES(ONS_REQUIRED_ATTRIBUTE("pooled_shape", ONS_ATTRIBUTE_INTS),
                                   ONS_FLOAT_ATTRIBUTE("spatial_scale", 1)),
                    ONS_INFER(max_roi_pool_infer), ONS_COST(ons_cost_elementwise),
                    ONS_GRADIENT_RULE(max_roi_pool_gradient, ONS_INPUT_BIT(0)),
                    ONS_SAVES(ONS_INPUT_BIT(1), ONS_INPUT_BIT(1)), ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ADDRESSES, 0),
                    ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(max_roi_pool_reference));
