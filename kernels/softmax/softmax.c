/* Softmax: e^(x - max) / Σ e^(x - max) along an axis. */
#include <math.h>

#include "kernels/operators.h"
#include "kernels/softmax/softmax_axis.h"

static void softmax_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                              void *const *outputs) {
    ons_axis_view view = ons_softmax_view(o);
    const double *x = inputs[0];
    double *y = outputs[0];
    for (int64_t row = 0; row < view.outer * view.inner; ++row) {
        int64_t first = row / view.inner * view.length * view.inner + row % view.inner;
        double max = -INFINITY, sum = 0;
        for (int64_t k = 0; k < view.length; ++k) max = fmax(max, x[first + k * view.inner]);
        for (int64_t k = 0; k < view.length; ++k) sum += exp(x[first + k * view.inner] - max);
        for (int64_t k = 0; k < view.length; ++k)
            y[first + k * view.inner] = exp(x[first + k * view.inner] - max) / sum;
    }
}

/* Subtract, maximum, exponential, sum and division: five operations an element. */
static ons_cost softmax_cost(const ons_operands *o) {
    return (ons_cost){5 * (double)ons_elements(&o->outputs[0]), ons_operand_bytes(o)};
}

static ons_status *softmax_gradient(ons_gradient *g) { return ons_softmax_build_gradient(g, &ons_op_softmax_gradient); }

ONS_DEFINE_OPERATOR(softmax, "Softmax", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(1, 1, 1, 1), ONS_SOFTMAX_ATTRIBUTES,
                    ONS_INFER(ons_softmax_infer), ONS_COST(softmax_cost),
                    ONS_GRADIENT_RULE(softmax_gradient, ONS_ALL_INPUTS), ONS_SAVES(0, ONS_INPUT_BIT(0)),
                    ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ANY_PRECISION | ONS_TRAIT_PROBABILITIES, 0),
                    ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}), ONS_PLAIN_LAYOUT,
                    ONS_FORMS(ons_softmax_upgrade, ONS_NO_PATTERNS, NULL), ONS_REFERENCE(softmax_reference));
