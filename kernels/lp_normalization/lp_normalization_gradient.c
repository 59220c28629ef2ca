/* The gradient of LpNormalization's input, from the output's gradient and x, with n its norm along the axis:
 *   p = 1: dx = dy ÷ n - sign(x) Σ(dy x) ÷ n²,   p = 2: dx = dy ÷ n - x Σ(dy x) ÷ n³;   0 where n is 0. */
#include "kernels/lp_normalization/lp_normalization_gradient.h"

#include <math.h>

#include "kernels/common/rows/rows.h"
#include "kernels/lp_normalization/lp_normalization.h"
#include "kernels/pooling/lp.h"

static ons_status *lp_normalization_gradient_infer(ons_operands *o) {
    ons_axis_view view;
    int p;
    ONS_TRY(ons_lp_order(o, P, 2, &p));
    ONS_TRY(ons_axis_view_of(o, &o->inputs[1].shape, ons_attribute_int(o, AXIS), false, &view));
    if (!ons_type_equal(&o->inputs[0], &o->inputs[1])) return ons_node_error(o, "cotangent and input differ");
    o->outputs[0] = o->inputs[1];
    return NULL;
}

/* Norm and sum 4, the difference 3. */
static ons_cost lp_normalization_gradient_cost(const ons_operands *o) {
    return (ons_cost){7 * (double)ons_elements(&o->inputs[1]), ons_operand_bytes(o)};
}

static void lp_normalization_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                                void *const *outputs) {
    ons_axis_view view = {0};
    ons_resolved(ons_axis_view_of(o, &o->inputs[1].shape, ons_attribute_int(o, AXIS), false, &view));
    int p = (int)ons_attribute_int(o, P);
    for (int64_t i = 0; i < view.outer * view.inner; ++i) {
        int64_t offset = i / view.inner * view.length * view.inner + i % view.inner;
        const double *dy = (const double *)inputs[0] + offset, *x = (const double *)inputs[1] + offset;
        double *dx = (double *)outputs[0] + offset, sum = 0, product = 0;
        for (int64_t k = 0; k < view.length * view.inner; k += view.inner) {
            sum += pow(fabs(x[k]), p);
            product += dy[k] * x[k];
        }
        double norm = pow(sum, 1.0 / p);
        for (int64_t k = 0; k < view.length * view.inner; k += view.inner)
            dx[k] = norm == 0 ? 0 : dy[k] / norm - ons_lp_slope_exact(x[k], p) * product / pow(norm, p + 1);
    }
}

ONS_DEFINE_OPERATOR(lp_normalization_gradient, "LpNormalizationGradient", ONS_INTERNAL, ONS_ARITY(2, 2, 1, 1),
                    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("axis", -1), ONS_INT_ATTRIBUTE("p", 2)),
                    ONS_INFER(lp_normalization_gradient_infer), ONS_COST(lp_normalization_gradient_cost),
                    ONS_NOT_DIFFERENTIABLE("it is itself a gradient"), ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR,
                    ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}, {ONS_ALIAS_MAY, 0, 1}), ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(lp_normalization_gradient_reference));
