/* PRelu: x, or slope·x where x is negative; the slope broadcasts to x and is learned. */
#include "kernels/common/elementwise/binary.h"
#include "kernels/common/operator/rules.h"
#include "kernels/operators.h"

ONS_BINARY_ORDERED_REFERENCE(prelu, a < 0 ? b * a : a, a < 0 ? ons_wrapping_multiply(b, a) : a, ((void)b, a))

static ons_status *prelu_infer(ons_operands *o) {
    ONS_TRY(ons_infer_broadcast_numbers(o));
    if (!ons_shape_equal(&o->outputs[0].shape, &o->inputs[0].shape))
        return ons_node_error(o, "the slope is larger than the data");
    return NULL;
}

static ons_status *prelu_gradient(ons_gradient *g) {
    ons_value_id x = ons_gradient_input(g, 0), dy = g->cotangents[0];
    if (g->wanted[0]) g->gradients[0] = ons_make3(g, &ons_op_prelu_gradient, dy, x, ons_gradient_input(g, 1));
    if (g->wanted[1]) g->gradients[1] = ons_make2(g, &ons_op_prelu_slope_gradient, dy, x);
    return NULL;
}

static ons_status *prelu_upgrade(ons_upgrade *u) { return u->opset < 7 ? ons_upgrade_align_second(u, 1) : NULL; }

/* Not marked elementwise: a slope is a weight even where it is a single number (graph/passes/classify.h). */
ONS_DEFINE_OPERATOR(prelu, "PRelu", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(2, 2, 1, 1), ONS_NO_ATTRIBUTES,
                    ONS_INFER(prelu_infer), ONS_COST(ons_cost_elementwise),
                    ONS_GRADIENT_RULE(prelu_gradient, ONS_ALL_INPUTS),
                    ONS_SAVES(ONS_INPUT_BIT(0) | ONS_INPUT_BIT(1), 0), ONS_ANY_PRECISION_OPERATOR,
                    ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}), ONS_FOLLOWS_LAYOUT,
                    ONS_FORMS(prelu_upgrade, ONS_NO_PATTERNS, NULL), ONS_REFERENCE(prelu_reference));
