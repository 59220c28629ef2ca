/* GlobalLpPool: the p-norm of all positions of a channel. */
#include "kernels/global_lp_pool/global_lp_pool_node.h"

#include "kernels/operators.h"
#include "kernels/pooling/global_pool.h"
#include "kernels/pooling/lp.h"

static ons_status *global_lp_pool_infer(ons_operands *o) {
    int p;
    ONS_TRY(ons_global_pool_infer(o));
    return ons_lp_order(o, P, ONS_LP_MAX, &p);
}

static ons_cost global_lp_pool_cost(const ons_operands *o) {
    return (ons_cost){2 * (double)ons_elements(&o->inputs[0]), ons_operand_bytes(o)};
}

static void global_lp_pool_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                     void *const *outputs) {
    ons_channels c = ons_channels_of(&o->inputs[0]);
    const double *x = inputs[0];
    double *y = outputs[0], p = (double)ons_attribute_int(o, P);
    for (int64_t i = 0; i < c.batch * c.channels; ++i) {
        double sum = 0;
        for (int64_t k = 0; k < c.positions; ++k) sum += pow(fabs(x[i * c.positions + k]), p);
        y[i] = pow(sum, 1 / p);
    }
}

static ons_status *global_lp_pool_gradient(ons_gradient *g) {
    g->gradients[0] = ons_build(g->builder, &ons_op_global_lp_pool_gradient,
                                ONS_IN(g->cotangents[0], ons_gradient_input(g, 0), ons_gradient_output(g, 0)),
                                ONS_WITH(ONS_AT_INT(P, ons_attribute_int(g->operands, P))));
    return NULL;
}

ONS_DEFINE_OPERATOR(global_lp_pool, "GlobalLpPool", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(1, 1, 1, 1),
                    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("p", 2)), ONS_INFER(global_lp_pool_infer),
                    ONS_COST(global_lp_pool_cost), ONS_GRADIENT_RULE(global_lp_pool_gradient, ONS_ALL_INPUTS),
                    ONS_SAVES(ONS_INPUT_BIT(0), ONS_INPUT_BIT(0)), ONS_ANY_PRECISION_OPERATOR, ONS_NO_ALIASES,
                    ONS_PLAIN_LAYOUT, ONS_FORMS(ons_lp_upgrade, ONS_NO_PATTERNS, NULL),
                    ONS_REFERENCE(global_lp_pool_reference));
