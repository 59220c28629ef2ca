/* Gradient of Gelu: from cotangent and input. Exactly: dy·(Φ(x) + x·φ(x)); with tanh: dy·(s + x·s·(1 - s)·2u′), s the
 * sigmoid of 2u. */
#include <math.h>

#include "kernels/gelu/gelu_formulas.h"

static double slope_of(double x, bool by_tanh) {
    return by_tanh ? ons_gelu_tanh_slope(x) : 0.5 * erfc(-x * M_SQRT1_2) + x * exp(-0.5 * x * x) * 0.5 * ONS_GELU_SCALE;
}

static void gelu_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                    void *const *outputs) {
    (void)step;
    const double *dy = inputs[0], *x = inputs[1];
    double *dx = outputs[0];
    for (int64_t i = 0, n = ons_elements(&o->outputs[0]); i < n; ++i)
        dx[i] = dy[i] * slope_of(x[i], ons_gelu_by_tanh(o));
}

ONS_DEFINE_OPERATOR(gelu_gradient, "GeluGradient", ONS_INTERNAL, ONS_ARITY(2, 2, 1, 1), ONS_GELU_ATTRIBUTES,
                    ONS_INFER(ons_gelu_infer), ONS_COST(ons_cost_elementwise),
                    ONS_NOT_DIFFERENTIABLE("it is itself a gradient"), ONS_SAVES_NOTHING,
                    ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ELEMENTWISE, 0),
                    ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}, {ONS_ALIAS_MAY, 0, 1}), ONS_FOLLOWS_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(gelu_gradient_reference));
