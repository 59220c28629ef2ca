/* Sub: a - b. */
#include "kernels/common/elementwise/binary.h"
#include "kernels/common/operator/rules.h"
#include "kernels/operators.h"

ONS_BINARY_NUMBER_REFERENCE(sub, a - b, ons_wrapping_subtract(a, b))

static ons_status *sub_gradient(ons_gradient *g) {
    if (g->wanted[0]) g->gradients[0] = g->cotangents[0];
    if (g->wanted[1]) g->gradients[1] = ons_make1(g, &ons_op_neg, g->cotangents[0]);
    return NULL;
}

ONS_DEFINE_BINARY(sub, "Sub", ONS_ONNX(1, ONS_NEWEST), ONS_NO_ATTRIBUTES, ONS_INFER(ons_infer_broadcast_numbers),
                  ONS_GRADIENT_RULE(sub_gradient, ONS_ALL_INPUTS), ONS_SAVES_NOTHING, ONS_ELEMENTWISE_OPERATOR,
                  ONS_BROADCAST_FORMS, ONS_REFERENCE(sub_reference));
