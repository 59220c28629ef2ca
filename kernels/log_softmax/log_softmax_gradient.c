/* Gradient of LogSoftmax: from output y and cotangent dy, dx = dy - e^y Σ dy. */
#include <math.h>

#include "kernels/softmax/softmax_axis.h"

static void log_softmax_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                           void *const *outputs) {
    ons_axis_view view = ons_softmax_view(o);
    const double *y = inputs[0], *dy = inputs[1];
    double *dx = outputs[0];
    for (int64_t row = 0; row < view.outer * view.inner; ++row) {
        int64_t first = row / view.inner * view.length * view.inner + row % view.inner;
        double sum = 0;
        for (int64_t i = first; i < first + view.length * view.inner; i += view.inner) sum += dy[i];
        for (int64_t i = first; i < first + view.length * view.inner; i += view.inner) dx[i] = dy[i] - exp(y[i]) * sum;
    }
}

static ons_cost log_softmax_gradient_cost(const ons_operands *o) {
    return (ons_cost){4 * (double)ons_elements(&o->outputs[0]), ons_operand_bytes(o)};
}

ONS_DEFINE_OPERATOR(log_softmax_gradient, "LogSoftmaxGradient", ONS_INTERNAL, ONS_ARITY(2, 2, 1, 1),
                    ONS_SOFTMAX_ATTRIBUTES, ONS_INFER(ons_softmax_infer), ONS_COST(log_softmax_gradient_cost),
                    ONS_NOT_DIFFERENTIABLE("it is itself a gradient"), ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR,
                    ONS_ALIASES({ONS_ALIAS_MAY, 0, 1}, {ONS_ALIAS_MAY, 0, 0}), ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(log_softmax_gradient_reference));
