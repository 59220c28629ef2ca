/* The gradient of MaxPool's input: from the output's gradient and the saved position of each maximum in its window.
 * Each row of the input collects from the windows that hold it, so that threads never write to the same place. */
#include <string.h>

#include "kernels/pooling/pooling.h"

static ons_status *max_pool_gradient_infer(ons_operands *o) {
    ons_pooling pooling;
    ONS_TRY(ons_pooling_resolve_gradient(o, &o->inputs[0], &pooling));
    if (o->inputs[1].dtype != pooling.position || !ons_shape_equal(&o->inputs[1].shape, &pooling.y.shape))
        return ons_node_error(o, "the saved positions do not fit the window");
    o->outputs[0] = pooling.x;
    return NULL;
}

static void max_pool_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                        void *const *outputs) {
    ons_pooling pooling;
    ons_resolved(ons_pooling_resolve_gradient(o, &o->inputs[0], &pooling));
    const ons_window *w = &pooling.window;
    const double *dy = inputs[0];
    const int64_t *positions = inputs[1];
    double *dx = outputs[0];
    memset(dx, 0, (size_t)ons_elements(&pooling.x) * sizeof *dx);
    int64_t count = ons_window_outputs(w);
    for (int64_t i = 0, all = ons_elements(&pooling.y); i < all; ++i) {
        int64_t at;
        if (ons_window_position(w, i % count, positions[i], &at)) dx[i / count * ons_window_inputs(w) + at] += dy[i];
    }
}

ONS_DEFINE_OPERATOR(max_pool_gradient, "MaxPoolGradient", ONS_INTERNAL, ONS_ARITY(2, 2, 1, 1),
                    ONS_ATTRIBUTES(ONS_POOLING_GRADIENT_ATTRIBUTES), ONS_INFER(max_pool_gradient_infer),
                    ONS_COST(ons_cost_each_input), ONS_NOT_DIFFERENTIABLE("second derivatives are not supported"),
                    ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR, ONS_NO_ALIASES, ONS_CHOOSES_LAYOUT(ons_pooling_choose),
                    ONS_ONE_FORM, ONS_REFERENCE(max_pool_gradient_reference));
