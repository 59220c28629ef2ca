/* The gradient of GlobalLpPool's input, from the output's gradient, x and the output y:
 *   dx = dy × sign(x) |x|^(p-1) ÷ y^(p-1). */
#include "kernels/global_lp_pool/global_lp_pool_gradient.h"

#include "kernels/common/layout/channels.h"
#include "kernels/global_lp_pool/global_lp_pool.h"
#include "kernels/pooling/lp.h"

static ons_status *global_lp_pool_gradient_infer(ons_operands *o) {
    const ons_shape *x = &o->inputs[1].shape;
    int p;
    ONS_TRY(ons_lp_order(o, P, ONS_LP_MAX, &p));
    if (x->rank < 2 || !ons_shape_equal(&o->inputs[0].shape, &o->inputs[2].shape) ||
        o->inputs[0].shape.rank != x->rank || x->dims[0] != o->inputs[0].shape.dims[0] ||
        x->dims[1] != o->inputs[0].shape.dims[1])
        return ons_node_error(o, "gradient, input and output do not fit each other");
    o->outputs[0] = o->inputs[1];
    return NULL;
}

static void global_lp_pool_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                              void *const *outputs) {
    ons_channels c = ons_channels_of(&o->inputs[1]);
    const double *dy = inputs[0], *x = inputs[1], *y = inputs[2];
    double *dx = outputs[0];
    int p = (int)ons_attribute_int(o, P);
    for (int64_t i = 0; i < c.batch * c.channels * c.positions; ++i)
        dx[i] = dy[i / c.positions] * ons_lp_slope_exact(x[i], p) * ons_lp_share_exact(y[i / c.positions], p);
}

ONS_DEFINE_OPERATOR(global_lp_pool_gradient, "GlobalLpPoolGradient", ONS_INTERNAL, ONS_ARITY(3, 3, 1, 1),
                    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("p", 2)), ONS_INFER(global_lp_pool_gradient_infer),
                    ONS_COST(ons_cost_elementwise), ONS_NOT_DIFFERENTIABLE("it is itself a gradient"),
                    ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR, ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(global_lp_pool_gradient_reference));
