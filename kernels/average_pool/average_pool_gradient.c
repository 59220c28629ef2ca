/* The gradient of AveragePool's input: each row collects its share of the windows that hold it. */
#include <string.h>

#include "kernels/pooling/pooling.h"

static ons_status *average_pool_gradient_infer(ons_operands *o) {
    ons_pooling pooling;
    ONS_TRY(ons_pooling_resolve_gradient(o, &o->inputs[0], &pooling));
    o->outputs[0] = pooling.x;
    return NULL;
}

static ons_cost average_pool_gradient_cost(const ons_operands *o) {
    ons_pooling pooling;
    ons_resolved(ons_pooling_resolve_gradient(o, &o->inputs[0], &pooling));
    return (ons_cost){(double)ons_elements(&pooling.y) * (double)ons_window_taps(&pooling.window),
                      ons_operand_bytes(o)};
}

static void average_pool_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                            void *const *outputs) {
    ons_pooling pooling;
    ons_resolved(ons_pooling_resolve_gradient(o, &o->inputs[0], &pooling));
    const ons_window *w = &pooling.window;
    const double *dy = inputs[0];
    double *dx = outputs[0];
    memset(dx, 0, (size_t)ons_elements(&pooling.x) * sizeof *dx);
    int64_t count = ons_window_outputs(w);
    for (int64_t i = 0, all = ons_elements(&pooling.y); i < all; ++i)
        for (int64_t tap = 0, taps = ons_window_taps(w); tap < taps; ++tap) {
            int64_t at;
            if (ons_window_position(w, i % count, tap, &at))
                dx[i / count * ons_window_inputs(w) + at] +=
                    dy[i] / (double)ons_pooling_divisor_at(w, pooling.include_pad, i % count);
        }
}

ONS_DEFINE_OPERATOR(average_pool_gradient, "AveragePoolGradient", ONS_INTERNAL, ONS_ARITY(1, 1, 1, 1),
                    ONS_ATTRIBUTES(ONS_POOLING_GRADIENT_ATTRIBUTES), ONS_INFER(average_pool_gradient_infer),
                    ONS_COST(average_pool_gradient_cost),
                    ONS_NOT_DIFFERENTIABLE("second derivatives are not supported"), ONS_SAVES_NOTHING,
                    ONS_PLAIN_OPERATOR, ONS_NO_ALIASES, ONS_CHOOSES_LAYOUT(ons_pooling_choose), ONS_ONE_FORM,
                    ONS_REFERENCE(average_pool_gradient_reference));
