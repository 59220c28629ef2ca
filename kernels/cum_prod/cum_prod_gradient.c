/* The gradient of CumProd, without a division, so that zeros do no harm. With P_i the product of all before i,
 *
 *     dx_i = P_i T_i,    T_i = dy_i + x_{i+1} T_{i+1}
 *
 * or, where the products leave out the element itself, T_i = dy_{i+1} + x_{i+1} T_{i+1}. */
#include "kernels/cum_prod/cum_prod_gradient.h"

#include "kernels/cumulative/cumulative.h"

static ons_status *cum_prod_gradient_infer(ons_operands *o) {
    if (!ons_type_equal(&o->inputs[X], &o->inputs[COTANGENT])) return ons_node_error(o, "operand and cotangent differ");
    return ons_cumulative_infer(o);
}

/* Four multiplications and an addition an element. */
static ons_cost cum_prod_gradient_cost(const ons_operands *o) {
    return (ons_cost){5 * (double)ons_elements(&o->outputs[0]), ons_operand_bytes(o)};
}

/* By the definition: every result's share in every element. */
static void cum_prod_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                        void *const *outputs) {
    ons_cumulative s = {0};
    const double *x = inputs[X], *dy = inputs[COTANGENT];
    ons_resolved(ons_cumulative_of(o, &s));
    for (int64_t row = 0; row < s.outer * s.inner; ++row)
        for (int64_t i = 0; i < s.length; ++i) {
            double sum = 0;
            for (int64_t j = i + (s.exclusive ? 1 : 0); j < s.length; ++j) {
                double others = 1;
                for (int64_t k = 0; k < j + (s.exclusive ? 0 : 1); ++k)
                    others *= k == i ? 1 : x[ons_cumulative_place(&s, row / s.inner, row % s.inner, k)];
                sum += dy[ons_cumulative_place(&s, row / s.inner, row % s.inner, j)] * others;
            }
            ((double *)outputs[0])[ons_cumulative_place(&s, row / s.inner, row % s.inner, i)] = sum;
        }
}

ONS_DEFINE_OPERATOR(cum_prod_gradient, "CumProdGradient", ONS_INTERNAL, ONS_ARITY(3, 3, 1, 1),
                    ONS_CUMULATIVE_ATTRIBUTES, ONS_INFER(cum_prod_gradient_infer), ONS_COST(cum_prod_gradient_cost),
                    ONS_NOT_DIFFERENTIABLE("a gradient"), ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR, ONS_NO_ALIASES,
                    ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(cum_prod_gradient_reference));
