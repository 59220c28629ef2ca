/* LpNormalization: x ÷ its norm along an axis, Σ|x| or √Σx²; 0 where the norm is 0. */
#include "kernels/lp_normalization/lp_normalization_node.h"

#include <math.h>

#include "kernels/common/rows/rows.h"
#include "kernels/operators.h"
#include "kernels/pooling/lp.h"

static ons_status *lp_normalization_infer(ons_operands *o) {
    ons_axis_view view;
    int p;
    if (!ons_dtype_is_float(o->inputs[0].dtype))
        return ons_node_error(o, "needs a float operand, not %s", ons_dtype_name(o->inputs[0].dtype));
    ONS_TRY(ons_lp_order(o, P, 2, &p));
    ONS_TRY(ons_axis_view_of(o, &o->inputs[0].shape, ons_attribute_int(o, AXIS), false, &view));
    o->outputs[0] = o->inputs[0];
    return NULL;
}

/* The norm 2, the division 1. */
static ons_cost lp_normalization_cost(const ons_operands *o) {
    return (ons_cost){3 * (double)ons_elements(&o->inputs[0]), ons_operand_bytes(o)};
}

static void lp_normalization_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                       void *const *outputs) {
    ons_axis_view view = {0};
    ons_resolved(ons_axis_view_of(o, &o->inputs[0].shape, ons_attribute_int(o, AXIS), false, &view));
    bool squares = ons_attribute_int(o, P) == 2;
    for (int64_t i = 0; i < view.outer * view.inner; ++i) {
        int64_t offset = i / view.inner * view.length * view.inner + i % view.inner;
        const double *x = (const double *)inputs[0] + offset;
        double *y = (double *)outputs[0] + offset, sum = 0;
        for (int64_t k = 0; k < view.length; ++k) {
            double value = x[k * view.inner];
            sum += squares ? value * value : fabs(value);
        }
        double norm = squares ? sqrt(sum) : sum;
        for (int64_t k = 0; k < view.length; ++k) y[k * view.inner] = norm == 0 ? 0 : x[k * view.inner] / norm;
    }
}

static ons_status *lp_normalization_gradient(ons_gradient *g) {
    g->gradients[0] =
        ons_build(g->builder, &ons_op_lp_normalization_gradient, ONS_IN(g->cotangents[0], ons_gradient_input(g, 0)),
                  ONS_WITH(ONS_AT_INT(AXIS, ons_attribute_int(g->operands, AXIS)),
                           ONS_AT_INT(P, ons_attribute_int(g->operands, P))));
    return NULL;
}

ONS_DEFINE_OPERATOR(lp_normalization, "LpNormalization", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(1, 1, 1, 1),
                    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("axis", -1), ONS_INT_ATTRIBUTE("p", 2)),
                    ONS_INFER(lp_normalization_infer), ONS_COST(lp_normalization_cost),
                    ONS_GRADIENT_RULE(lp_normalization_gradient, ONS_ALL_INPUTS), ONS_SAVES(ONS_INPUT_BIT(0), 0),
                    ONS_PLAIN_OPERATOR, ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}), ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(lp_normalization_reference));
