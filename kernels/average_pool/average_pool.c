/* AveragePool: the mean over a window; padding counts where count_include_pad says so. */
#include "kernels/operators.h"
#include "kernels/pooling/pooling.h"

static ons_status *average_pool_infer(ons_operands *o) {
    ons_pooling pooling;
    if (!ons_dtype_is_float(o->inputs[0].dtype))
        return ons_node_error(o, "pooling of %s is not supported", ons_dtype_name(o->inputs[0].dtype));
    ONS_TRY(ons_pooling_resolve(o, &o->inputs[0], &pooling));
    o->outputs[0] = pooling.y;
    return NULL;
}

static ons_cost average_pool_cost(const ons_operands *o) {
    ons_pooling pooling;
    ons_resolved(ons_pooling_resolve(o, &o->inputs[0], &pooling));
    return (ons_cost){(double)ons_elements(&pooling.y) * (double)ons_window_taps(&pooling.window),
                      ons_operand_bytes(o)};
}

static void average_pool_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                   void *const *outputs) {
    ons_pooling pooling;
    ons_resolved(ons_pooling_resolve(o, &o->inputs[0], &pooling));
    const ons_window *w = &pooling.window;
    const double *x = inputs[0];
    double *y = outputs[0];
    int64_t count = ons_window_outputs(w);
    for (int64_t i = 0, all = ons_elements(&pooling.y); i < all; ++i) {
        double sum = 0;
        for (int64_t tap = 0, taps = ons_window_taps(w); tap < taps; ++tap) {
            int64_t at;
            if (ons_window_position(w, i % count, tap, &at)) sum += x[i / count * ons_window_inputs(w) + at];
        }
        y[i] = sum / (double)ons_pooling_divisor_at(w, pooling.include_pad, i % count);
    }
}

static ons_status *average_pool_gradient(ons_gradient *g) {
    ons_pooling pooling;
    ons_resolved(ons_pooling_resolve(g->operands, &g->operands->inputs[0], &pooling));
    g->gradients[0] = ons_pooling_build_gradient(g, &ons_op_average_pool_gradient, &pooling, ONS_IN(g->cotangents[0]));
    return NULL;
}

ONS_DEFINE_OPERATOR(average_pool, "AveragePool", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(1, 1, 1, 1),
                    ONS_ATTRIBUTES(ONS_POOLING_ATTRIBUTES), ONS_INFER(average_pool_infer), ONS_COST(average_pool_cost),
                    ONS_GRADIENT_RULE(average_pool_gradient, ONS_ALL_INPUTS), ONS_SAVES_NOTHING,
                    ONS_ANY_PRECISION_OPERATOR, ONS_NO_ALIASES, ONS_CHOOSES_LAYOUT(ons_pooling_choose), ONS_ONE_FORM,
                    ONS_REFERENCE(average_pool_reference));
