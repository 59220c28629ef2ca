/* Mean: of all operands. */
#include "kernels/common/elementwise/variadic.h"
#include "kernels/common/operator/rules.h"
#include "kernels/operators.h"

ONS_VARIADIC_WORDS(mean_floats, double, a + b, a / (double)count)
ONS_VARIADIC_REFERENCES(mean, mean_floats, mean_floats)

static ons_status *mean_gradient(ons_gradient *g) {
    uint32_t count = g->operands->input_count;
    ons_value_id share = ons_make2(g, &ons_op_div, g->cotangents[0], ons_make_scalar(g, count));
    for (uint32_t i = 0; i < count; ++i) g->gradients[i] = share;
    return NULL;
}

static ons_cost mean_cost(const ons_operands *o) {
    return (ons_cost){(double)ons_elements(&o->outputs[0]) * o->input_count, ons_operand_bytes(o)};
}

ONS_DEFINE_OPERATOR(mean, "Mean", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(1, ONS_VARIADIC, 1, 1), ONS_NO_ATTRIBUTES,
                    ONS_INFER(ons_infer_broadcast_floats), ONS_COST(mean_cost),
                    ONS_GRADIENT_RULE(mean_gradient, ONS_ALL_INPUTS), ONS_SAVES_NOTHING,
                    ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ELEMENTWISE | ONS_TRAIT_COMMUTATIVE, 0),
                    ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}, {ONS_ALIAS_MAY, 0, 1}), ONS_FOLLOWS_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(mean_reference));
