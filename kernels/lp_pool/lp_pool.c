/* LpPool: the p-norm of a window, (Σ |x|^p)^(1/p); padding adds nothing. */
#include "kernels/lp_pool/lp_pool.h"

#include "kernels/operators.h"
#include "kernels/pooling/lp.h"
#include "kernels/pooling/pooling.h"

static ons_status *lp_pool_infer(ons_operands *o) {
    ons_pooling pooling;
    int p;
    ONS_TRY(resolve_lp_pooling(o, &pooling, &p));
    o->outputs[0] = pooling.y;
    return NULL;
}

static ons_cost lp_pool_cost(const ons_operands *o) {
    ons_pooling pooling;
    int p;
    ons_resolved(resolve_lp_pooling(o, &pooling, &p));
    return (ons_cost){2 * (double)ons_elements(&pooling.y) * (double)ons_window_taps(&pooling.window),
                      ons_operand_bytes(o)};
}

static void lp_pool_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                              void *const *outputs) {
    ons_pooling pooling;
    int p = 2;
    ons_resolved(resolve_lp_pooling(o, &pooling, &p));
    const ons_window *w = &pooling.window;
    const double *x = inputs[0];
    double *y = outputs[0];
    int64_t count = ons_window_outputs(w);
    for (int64_t i = 0, all = ons_elements(&pooling.y); i < all; ++i) {
        double sum = 0;
        for (int64_t tap = 0, taps = ons_window_taps(w); tap < taps; ++tap) {
            int64_t at;
            if (ons_window_position(w, i % count, tap, &at))
                sum += pow(fabs(x[i / count * ons_window_inputs(w) + at]), p);
        }
        y[i] = pow(sum, 1.0 / p);
    }
}

static ons_status *lp_pool_gradient(ons_gradient *g) {
    ons_pooling pooling;
    ons_window_settings s;
    int p;
    ons_resolved(resolve_lp_pooling(g->operands, &pooling, &p));
    ons_window_get_settings(&pooling.window, &pooling.x.shape, &s);
    g->gradients[0] =
        ons_build(g->builder, &ons_op_lp_pool_gradient,
                  ONS_IN(g->cotangents[0], ons_gradient_input(g, 0), ons_gradient_output(g, 0)),
                  ONS_WITH(ONS_WINDOW_WITH(&pooling.window, &s),
                           ONS_AT_INT(ONS_POOLING_CEIL_MODE, ons_attribute_int(g->operands, ONS_POOLING_CEIL_MODE)),
                           ONS_AT_INT(P, p)));
    return NULL;
}

ONS_DEFINE_OPERATOR(lp_pool, "LpPool", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(1, 1, 1, 1),
                    ONS_ATTRIBUTES(ONS_POOLING_ATTRIBUTES, ONS_INT_ATTRIBUTE("p", 2)), ONS_INFER(lp_pool_infer),
                    ONS_COST(lp_pool_cost), ONS_GRADIENT_RULE(lp_pool_gradient, ONS_ALL_INPUTS),
                    ONS_SAVES(ONS_INPUT_BIT(0), ONS_INPUT_BIT(0)), ONS_PLAIN_OPERATOR, ONS_NO_ALIASES,
                    ONS_CHOOSES_LAYOUT(ons_pooling_choose), ONS_FORMS(ons_lp_upgrade, ONS_NO_PATTERNS, NULL),
                    ONS_REFERENCE(lp_pool_reference));
