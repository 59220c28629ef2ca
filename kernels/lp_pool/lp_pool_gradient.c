/* The gradient of LpPool's input, from the output's gradient, x and the output y:
 *   dx = sign(x) |x|^(p-1) × Σ dy ÷ y^(p-1) over the windows that hold it. */
#include "kernels/lp_pool/lp_pool_gradient.h"

#include <string.h>

#include "kernels/pooling/lp.h"
#include "kernels/pooling/pooling.h"

static ons_status *lp_pool_gradient_infer(ons_operands *o) {
    ons_pooling pooling;
    int p;
    ONS_TRY(resolve_lp_pooling(o, &pooling, &p));
    o->outputs[0] = ons_type_make(o->inputs[1].dtype, pooling.x.shape);
    return NULL;
}

static ons_cost lp_pool_gradient_cost(const ons_operands *o) {
    ons_pooling pooling;
    int p;
    ons_resolved(resolve_lp_pooling(o, &pooling, &p));
    return (ons_cost){(double)ons_elements(&pooling.y) * (double)ons_window_taps(&pooling.window),
                      ons_operand_bytes(o)};
}

static void lp_pool_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                       void *const *outputs) {
    ons_pooling pooling;
    int p = 2;
    ons_resolved(resolve_lp_pooling(o, &pooling, &p));
    const ons_window *w = &pooling.window;
    const double *dy = inputs[0], *x = inputs[1], *y = inputs[2];
    double *dx = outputs[0];
    memset(dx, 0, (size_t)ons_elements(&pooling.x) * sizeof *dx);
    int64_t count = ons_window_outputs(w);
    for (int64_t i = 0, all = ons_elements(&pooling.y); i < all; ++i)
        for (int64_t tap = 0, taps = ons_window_taps(w); tap < taps; ++tap) {
            int64_t at;
            if (!ons_window_position(w, i % count, tap, &at)) continue;
            at += i / count * ons_window_inputs(w);
            dx[at] += dy[i] * ons_lp_share_exact(y[i], p) * ons_lp_slope_exact(x[at], p);
        }
}

ONS_DEFINE_OPERATOR(lp_pool_gradient, "LpPoolGradient", ONS_INTERNAL, ONS_ARITY(3, 3, 1, 1),
                    ONS_ATTRIBUTES(ONS_POOLING_ATTRIBUTES, ONS_INT_ATTRIBUTE("p", 2)),
                    ONS_INFER(lp_pool_gradient_infer), ONS_COST(lp_pool_gradient_cost),
                    ONS_NOT_DIFFERENTIABLE("it is itself a gradient"), ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR,
                    ONS_NO_ALIASES, ONS_CHOOSES_LAYOUT(ons_pooling_choose), ONS_ONE_FORM,
                    ONS_REFERENCE(lp_pool_gradient_reference));
