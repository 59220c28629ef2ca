/* The gradient of GlobalMaxPool's input: it goes to the first position that holds the maximum. Inputs: the output's
 * gradient, x, the output. */
#include "kernels/common/layout/channels.h"

static ons_status *global_max_pool_gradient_infer(ons_operands *o) {
    const ons_shape *x = &o->inputs[1].shape;
    if (x->rank < 2 || !ons_shape_equal(&o->inputs[0].shape, &o->inputs[2].shape) ||
        x->dims[0] != o->inputs[0].shape.dims[0] || x->dims[1] != o->inputs[0].shape.dims[1])
        return ons_node_error(o, "gradient, input and output do not fit each other");
    o->outputs[0] = o->inputs[1];
    return NULL;
}

static void global_max_pool_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                               void *const *outputs) {
    ons_channels c = ons_channels_of(&o->inputs[1]);
    const double *dy = inputs[0], *x = inputs[1], *y = inputs[2];
    double *dx = outputs[0];
    for (int64_t i = 0; i < c.batch * c.channels; ++i) {
        bool found = false;
        for (int64_t k = 0; k < c.positions; ++k) {
            bool here = !found && x[i * c.positions + k] == y[i];
            dx[i * c.positions + k] = here ? dy[i] : 0;
            found |= here;
        }
    }
}

ONS_DEFINE_OPERATOR(global_max_pool_gradient, "GlobalMaxPoolGradient", ONS_INTERNAL, ONS_ARITY(3, 3, 1, 1),
                    ONS_NO_ATTRIBUTES, ONS_INFER(global_max_pool_gradient_infer), ONS_COST(ons_cost_elementwise),
                    ONS_NOT_DIFFERENTIABLE("second derivatives are not supported"), ONS_SAVES_NOTHING,
                    ONS_PLAIN_OPERATOR, ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(global_max_pool_gradient_reference));
