/* GlobalAveragePool: the mean over all positions of a channel. */
#include "kernels/operators.h"
#include "kernels/pooling/global_pool.h"

/* With one position left, the output is in ONNX's order whatever the input is. */
static ons_status *global_average_pool_choose(const ons_operands *o, ons_layout *inputs, ons_layout *outputs) {
    inputs[0] = o->inputs[0].layout == ONS_LAYOUT_CHANNELS_LAST ? ONS_LAYOUT_CHANNELS_LAST : ONS_LAYOUT_ONNX;
    outputs[0] = ONS_LAYOUT_ONNX;
    return NULL;
}

static void global_average_pool_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                          void *const *outputs) {
    ons_channels c = ons_channels_of(&o->inputs[0]);
    const double *x = inputs[0];
    double *y = outputs[0];
    for (int64_t i = 0; i < c.batch * c.channels; ++i) {
        y[i] = 0;
        for (int64_t k = 0; k < c.positions; ++k) y[i] += x[i * c.positions + k];
        y[i] /= (double)c.positions;
    }
}

static ons_status *global_average_pool_gradient(ons_gradient *g) {
    const ons_shape *x = &g->operands->inputs[0].shape;
    g->gradients[0] = ons_build(g->builder, &ons_op_global_average_pool_gradient, ONS_IN(g->cotangents[0]),
                                ONS_WITH(ONS_AT_INTS(0, x->rank, x->dims)));
    return NULL;
}

ONS_DEFINE_OPERATOR(global_average_pool, "GlobalAveragePool", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(1, 1, 1, 1),
                    ONS_NO_ATTRIBUTES, ONS_INFER(ons_global_pool_infer), ONS_COST(ons_cost_each_input),
                    ONS_GRADIENT_RULE(global_average_pool_gradient, ONS_ALL_INPUTS), ONS_SAVES_NOTHING,
                    ONS_ANY_PRECISION_OPERATOR, ONS_NO_ALIASES, ONS_CHOOSES_LAYOUT(global_average_pool_choose),
                    ONS_ONE_FORM, ONS_REFERENCE(global_average_pool_reference));
