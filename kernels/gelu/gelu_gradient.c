/* Gradient of Gelu: from cotangent and input. Output 1, where somebody asks for it, is Gelu of that input again
 * (ONS_TRAIT_HANDS_BACK): most of what it takes is computed for the slope anyway. Exactly: dy·(Φ(x) + x·φ(x)); with
 * tanh: dy·(s + x·s·(1 - s)·2u′), s the sigmoid of 2u. */
#include <math.h>

#include "kernels/gelu/gelu_formulas.h"

static double slope_of(double x, bool by_tanh) {
    return by_tanh ? ons_gelu_tanh_slope(x) : 0.5 * erfc(-x * M_SQRT1_2) + x * exp(-0.5 * x * x) * 0.5 * ONS_GELU_SCALE;
}

static void gelu_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                    void *const *outputs) {
    (void)step;
    const double *dy = inputs[0], *x = inputs[1];
    double *dx = outputs[0], *again = ons_has_output(o, 1) ? outputs[1] : NULL;
    bool by_tanh = ons_gelu_by_tanh(o);
    for (int64_t i = 0, n = ons_elements(&o->outputs[0]); i < n; ++i) {
        double value = ons_gelu(x[i], by_tanh); /* both may lie where the operands do */
        dx[i] = dy[i] * slope_of(x[i], by_tanh);
        if (again != NULL) again[i] = value;
    }
}

static ons_status *gelu_gradient_infer(ons_operands *o) {
    ONS_TRY(ons_gelu_infer(o));
    if (o->output_count > 1) o->outputs[1] = o->inputs[1];
    return NULL;
}

ONS_DEFINE_OPERATOR(gelu_gradient, "GeluGradient", ONS_INTERNAL, ONS_ARITY(2, 2, 1, 2), ONS_GELU_ATTRIBUTES,
                    ONS_INFER(gelu_gradient_infer), ONS_COST(ons_cost_elementwise),
                    ONS_NOT_DIFFERENTIABLE("it is itself a gradient"), ONS_SAVES_NOTHING,
                    ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ELEMENTWISE | ONS_TRAIT_HANDS_BACK, 0),
                    ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}, {ONS_ALIAS_MAY, 0, 1}, {ONS_ALIAS_MAY, 1, 1}),
                    ONS_FOLLOWS_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(gelu_gradient_reference));
