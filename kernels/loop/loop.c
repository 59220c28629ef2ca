/* Loop: a body that runs again and again. It is unrolled when shapes are bound: the steps take its place. */
#include "kernels/common/operator/kernel.h"

static ons_status *loop_infer(ons_operands *o) {
    return ons_node_error(o, "how often the loop runs depends on data; export the model with a fixed number of steps");
}

ONS_DEFINE_OPERATOR(loop, "Loop", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(0, ONS_VARIADIC, 1, ONS_VARIADIC),
                    ONS_ATTRIBUTES(ONS_REQUIRED_ATTRIBUTE("body", ONS_ATTRIBUTE_GRAPH)), ONS_INFER(loop_infer),
                    ONS_COST(ons_cost_free), ONS_NOT_DIFFERENTIABLE("its steps take its place when shapes are bound"),
                    ONS_SAVES_NOTHING, ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_LOOP, 0), ONS_NO_ALIASES, ONS_PLAIN_LAYOUT,
                    ONS_FORMS(NULL, ONS_NO_PATTERNS, NULL), NULL);
