/* GroupNormalization: groups of channels of every sample by their own mean and deviation, then × scale + bias by
 * channel, or by group as before opset 21. Outputs 1 and 2, mean and inverse deviation, are there for the gradient. */
#include "kernels/group_normalization/group_normalization.h"

#include "graph/upgrade.h"
#include "kernels/group_normalization/patterns.h"
#include "kernels/normalization/group_norm.h"

static ons_status *group_normalization_infer(ons_operands *o) {
    ons_group_norm norm;
    ONS_TRY(find_norm(o, &norm));
    return ons_group_norm_infer(o, &norm);
}

static ons_cost group_normalization_cost(const ons_operands *o) {
    return (ons_cost){8 * (double)ons_elements(&o->inputs[0]), ons_operand_bytes(o)};
}

static void group_normalization_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                          void *const *outputs) {
    ons_group_norm norm;
    ons_resolved(find_norm(o, &norm));
    ons_group_norm_reference(o, &norm, ons_attribute_float(o, EPSILON), inputs, outputs);
}

static ons_status *group_normalization_gradient(ons_gradient *g) {
    ons_group_norm norm;
    ons_resolved(find_norm(g->operands, &norm));
    return ons_group_norm_build_gradient(g, &norm);
}

static ons_status *group_normalization_upgrade(ons_upgrade *u) {
    if (u->opset >= 21) return NULL;
    return ons_upgrade_set(u, "onstage_scale_per_group", (ons_attribute){.kind = ONS_ATTRIBUTE_INT, .i = 1});
}

ONS_DEFINE_OPERATOR(group_normalization, "GroupNormalization", ONS_ONNX(18, ONS_NEWEST), ONS_ARITY(3, 3, 1, 3),
                    ONS_ATTRIBUTES(ONS_REQUIRED_ATTRIBUTE("num_groups", ONS_ATTRIBUTE_INT),
                                   ONS_FLOAT_ATTRIBUTE("epsilon", 1e-5), ONS_INT_ATTRIBUTE("stash_type", 1),
                                   ONS_INT_ATTRIBUTE("onstage_scale_per_group", 0)),
                    ONS_INFER(group_normalization_infer), ONS_COST(group_normalization_cost),
                    ONS_GRADIENT_RULE(group_normalization_gradient, ONS_ALL_INPUTS),
                    ONS_SAVES(ONS_INPUT_BIT(0) | ONS_INPUT_BIT(1), ONS_INPUT_BIT(1) | ONS_INPUT_BIT(2)),
                    ONS_ANY_PRECISION_OPERATOR, ONS_NO_ALIASES, ONS_CHOOSES_LAYOUT(ons_group_norm_choose),
                    ONS_FORMS(group_normalization_upgrade, ons_group_norm_patterns, NULL),
                    ONS_REFERENCE(group_normalization_reference));
