/* Puts values into another layout: from and to ONNX's order, channels last, and the formats that weights are wanted
 * in. */
#include <string.h>

#include "graph/operator.h"
#include "kernels/common/operator/kernel.h"

enum { LAYOUT };

static ons_status *reorder_infer(ons_operands *o) {
    int64_t layout = ons_attribute_int(o, LAYOUT);
    if (layout < 0 || layout > UINT32_MAX) return ons_node_error(o, "there is no layout %lld", (long long)layout);
    o->outputs[0] = o->inputs[0];
    o->outputs[0].layout = (ons_layout)layout;
    return NULL;
}

/* Words lie in ONNX's order in every layout: nothing to do. */
static void reorder_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                              void *const *outputs) {
    memcpy(outputs[0], inputs[0], (size_t)ons_elements(&o->inputs[0]) * 8);
}

ONS_DEFINE_OPERATOR(reorder, "Reorder", ONS_INTERNAL, ONS_ARITY(1, 1, 1, 1),
                    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("layout", ONS_LAYOUT_ONNX)), ONS_INFER(reorder_infer),
                    ONS_COST(ons_cost_copy), ONS_NOT_DIFFERENTIABLE("layouts are chosen after differentiation"),
                    ONS_SAVES_NOTHING, ONS_ROLES(ONS_ROLE_REORDER, 0, 0), ONS_NO_ALIASES, ONS_PLAIN_LAYOUT,
                    ONS_ONE_FORM, ONS_REFERENCE(reorder_reference));
