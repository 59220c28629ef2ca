/* If: one of two branches. The condition must be known when shapes are bound; then the branch takes the node's place.
 */
#include "kernels/common/operator/kernel.h"

static ons_status *if_infer(ons_operands *o) {
    return ons_node_error(o,
                          "the condition depends on data; export the model with fixed shapes, so that it is constant");
}

ONS_DEFINE_OPERATOR(if, "If", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(1, 1, 1, ONS_VARIADIC),
                    ONS_ATTRIBUTES(ONS_REQUIRED_ATTRIBUTE("then_branch", ONS_ATTRIBUTE_GRAPH),
                                   ONS_REQUIRED_ATTRIBUTE("else_branch", ONS_ATTRIBUTE_GRAPH)),
                    ONS_INFER(if_infer), ONS_COST(ons_cost_free),
                    ONS_NOT_DIFFERENTIABLE("a branch takes its place when shapes are bound"), ONS_SAVES_NOTHING,
                    ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_CONTROL_FLOW, 0), ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    NULL);
