/* LRN: x ÷ (bias + alpha ÷ size × Σ x²)^beta, the sum over neighbouring channels. */
#include <math.h>

#include "kernels/lrn/local_response.h"
#include "kernels/operators.h"

static ons_status *lrn_infer(ons_operands *o) {
    ons_local_response l;
    ONS_TRY(ons_local_response_of(o, &o->inputs[0], &l));
    o->outputs[0] = o->inputs[0];
    return NULL;
}

/* A square and a sum for each channel of the window; weight, bias, power, product. */
static ons_cost lrn_cost(const ons_operands *o) {
    double size = (double)ons_attribute_int(o, ONS_LRN_SIZE);
    return (ons_cost){(2 * size + 4) * (double)ons_elements(&o->inputs[0]), ons_operand_bytes(o)};
}

static void lrn_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                          void *const *outputs) {
    const double *x = inputs[0];
    for (int64_t i = 0, count = ons_elements(&o->inputs[0]); i < count; ++i)
        ((double *)outputs[0])[i] =
            x[i] * pow(ons_local_sum_exact(o, &o->inputs[0], x, i), -ons_attribute_float(o, ONS_LRN_BETA));
}

static ons_status *lrn_gradient(ons_gradient *g) {
    ons_build_node_like(g->builder, &ons_op_lrn_gradient, ONS_IN(g->cotangents[0], ons_gradient_input(g, 0)),
                        g->operands->attributes, 1, NULL, g->gradients);
    return NULL;
}

ONS_DEFINE_OPERATOR(lrn, "LRN", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(1, 1, 1, 1), ONS_ATTRIBUTES(ONS_LRN_ATTRIBUTES),
                    ONS_INFER(lrn_infer), ONS_COST(lrn_cost), ONS_GRADIENT_RULE(lrn_gradient, ONS_ALL_INPUTS),
                    ONS_SAVES(ONS_INPUT_BIT(0), 0), ONS_ANY_PRECISION_OPERATOR, ONS_NO_ALIASES, ONS_PLAIN_LAYOUT,
                    ONS_ONE_FORM, ONS_REFERENCE(lrn_reference));
