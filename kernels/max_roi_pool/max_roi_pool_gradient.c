/* The gradient of MaxRoiPool's input: each bin's goes to the position where its maximum was found. Inputs: the output's
 * gradient, the regions, the saved positions. Threads share out the planes, each running through all regions. */
#include "kernels/max_roi_pool/max_roi_pool_gradient_node.h"

#include <string.h>

#include "kernels/common/layout/window.h"

enum { INPUT_SHAPE };

ons_status *ons_max_roi_pool_gradient_find_sizes(const ons_operands *o, ons_max_roi_pool_gradient *s) {
    ons_shape x;
    const ons_shape *dy = &o->inputs[0].shape, *regions = &o->inputs[1].shape;
    ONS_TRY(ons_window_shape_attribute(o, INPUT_SHAPE, &x));
    if (x.rank != 4 || dy->rank != 4 || regions->rank != 2 || regions->dims[1] != 5 ||
        dy->dims[0] != regions->dims[0] || dy->dims[1] != x.dims[1] || o->inputs[2].dtype != ONS_INT32 ||
        !ons_shape_equal(&o->inputs[2].shape, dy))
        return ons_node_error(o, "gradient, regions and saved positions do not fit each other");
    *s = (ons_max_roi_pool_gradient){x.dims[0], x.dims[1], x.dims[2] * x.dims[3], dy->dims[0],
                                     dy->dims[2] * dy->dims[3]};
    return NULL;
}

static ons_status *max_roi_pool_gradient_infer(ons_operands *o) {
    ons_max_roi_pool_gradient s;
    ons_shape x;
    ONS_TRY(ons_max_roi_pool_gradient_find_sizes(o, &s));
    ONS_TRY(ons_window_shape_attribute(o, INPUT_SHAPE, &x));
    o->outputs[0] = ons_type_make(o->inputs[0].dtype, x);
    return NULL;
}

static void max_roi_pool_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                            void *const *outputs) {
    ons_max_roi_pool_gradient s = {0};
    ons_resolved(ons_max_roi_pool_gradient_find_sizes(o, &s));
    const double *dy = inputs[0], *regions = inputs[1];
    const int64_t *positions = inputs[2];
    double *dx = outputs[0];
    memset(dx, 0, (size_t)(s.batch * s.channels * s.positions) * sizeof *dx);
    for (int64_t i = 0; i < s.regions * s.channels * s.bins; ++i) {
        double sample = regions[i / s.bins / s.channels * 5];
        if (positions[i] < 0 || positions[i] >= s.positions || !(sample >= 0 && sample < (double)s.batch)) continue;
        dx[((int64_t)sample * s.channels + i / s.bins % s.channels) * s.positions + positions[i]] += dy[i];
    }
}

ONS_DEFINE_OPERATOR(max_roi_pool_gradient, "MaxRoiPoolGradient", ONS_INTERNAL, ONS_ARITY(3, 3, 1, 1),
                    ONS_ATTRIBUTES(ONS_REQUIRED_ATTRIBUTE("input_shape", ONS_ATTRIBUTE_INTS)),
                    ONS_INFER(max_roi_pool_gradient_infer), ONS_COST(ons_cost_each_input),
                    ONS_NOT_DIFFERENTIABLE("it is itself a gradient"), ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR,
                    ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(max_roi_pool_gradient_reference));
