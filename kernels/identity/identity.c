/* Identity: the input itself. Binding takes it out; it stands here for graphs that are built otherwise. One that
 * PyTorch's exporter has written for a detach stops the gradient. */
#include <string.h>

#include "graph/upgrade.h"

#include "kernels/common/operator/kernel.h"

static void identity_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                               void *const *outputs) {
    memcpy(outputs[0], inputs[0], (size_t)ons_elements(&o->outputs[0]) * 8);
}

static ons_status *identity_gradient(ons_gradient *g) {
    g->gradients[0] = g->cotangents[0];
    return NULL;
}

extern const ons_operator ons_op_stop_gradient;

static ons_status *identity_upgrade(ons_upgrade *u) {
    static const char *const detaches[] = {"aten.detach", "aten.detach_", "aten.detach_copy"};
    for (size_t i = 0; i < sizeof detaches / sizeof *detaches; ++i)
        if (ons_call_is(&u->call, detaches[i])) u->op = &ons_op_stop_gradient;
    return NULL;
}

ONS_DEFINE_OPERATOR(identity, "Identity", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(1, 1, 1, 1), ONS_NO_ATTRIBUTES,
                    ONS_INFER(ons_infer_like_first), ONS_COST(ons_cost_free),
                    ONS_GRADIENT_RULE(identity_gradient, ONS_ALL_INPUTS), ONS_SAVES_NOTHING,
                    ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_IDENTITY | ONS_TRAIT_ELEMENTWISE, 0),
                    ONS_ALIASES({ONS_ALIAS_VIEW, 0, 0}), ONS_FOLLOWS_LAYOUT,
                    ONS_FORMS(identity_upgrade, ONS_NO_PATTERNS, NULL), ONS_REFERENCE(identity_reference));
