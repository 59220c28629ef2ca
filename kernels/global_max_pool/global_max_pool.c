/* GlobalMaxPool: the maximum over all positions of a channel. */
#include <math.h>

#include "kernels/operators.h"
#include "kernels/pooling/global_pool.h"

static void global_max_pool_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                      void *const *outputs) {
    ons_channels c = ons_channels_of(&o->inputs[0]);
    const double *x = inputs[0];
    double *y = outputs[0];
    for (int64_t i = 0; i < c.batch * c.channels; ++i) {
        y[i] = -INFINITY;
        for (int64_t k = 0; k < c.positions; ++k) {
            double value = x[i * c.positions + k];
            y[i] = value > y[i] || isnan(value) ? value : y[i];
        }
    }
}

static ons_status *global_max_pool_gradient(ons_gradient *g) {
    g->gradients[0] =
        ons_build(g->builder, &ons_op_global_max_pool_gradient,
                  ONS_IN(g->cotangents[0], ons_gradient_input(g, 0), ons_gradient_output(g, 0)), ONS_DEFAULTS);
    return NULL;
}

ONS_DEFINE_OPERATOR(global_max_pool, "GlobalMaxPool", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(1, 1, 1, 1), ONS_NO_ATTRIBUTES,
                    ONS_INFER(ons_global_pool_infer), ONS_COST(ons_cost_each_input),
                    ONS_GRADIENT_RULE(global_max_pool_gradient, ONS_ALL_INPUTS),
                    ONS_SAVES(ONS_INPUT_BIT(0), ONS_INPUT_BIT(0)), ONS_ANY_PRECISION_OPERATOR, ONS_NO_ALIASES,
                    ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(global_max_pool_reference));
