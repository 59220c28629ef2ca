/* InstanceNormalization: every channel of every sample by its own mean and deviation, then × scale + bias. Outputs 1
 * and 2, mean and inverse deviation, are there for the gradient. */
#include "kernels/instance_normalization/instance_normalization.h"

#include "kernels/normalization/group_norm.h"

static ons_status *instance_normalization_infer(ons_operands *o) {
    ons_group_norm norm;
    ONS_TRY(find_norm(o, &norm));
    return ons_group_norm_infer(o, &norm);
}

static ons_cost instance_normalization_cost(const ons_operands *o) {
    return (ons_cost){8 * (double)ons_elements(&o->inputs[0]), ons_operand_bytes(o)};
}

static void instance_normalization_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                             void *const *outputs) {
    ons_group_norm norm;
    ons_resolved(find_norm(o, &norm));
    ons_group_norm_reference(o, &norm, ons_attribute_float(o, EPSILON), inputs, outputs);
}

static ons_status *instance_normalization_gradient(ons_gradient *g) {
    ons_group_norm norm;
    ons_resolved(find_norm(g->operands, &norm));
    return ons_group_norm_build_gradient(g, &norm);
}

ONS_DEFINE_OPERATOR(instance_normalization, "InstanceNormalization", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(3, 3, 1, 3),
                    ONS_ATTRIBUTES(ONS_FLOAT_ATTRIBUTE("epsilon", 1e-5)), ONS_INFER(instance_normalization_infer),
                    ONS_COST(instance_normalization_cost),
                    ONS_GRADIENT_RULE(instance_normalization_gradient, ONS_ALL_INPUTS),
                    ONS_SAVES(ONS_INPUT_BIT(0) | ONS_INPUT_BIT(1), ONS_INPUT_BIT(1) | ONS_INPUT_BIT(2)),
                    ONS_PLANES_OPERATOR, ONS_NO_ALIASES, ONS_CHOOSES_LAYOUT(ons_group_norm_choose), ONS_ONE_FORM,
                    ONS_REFERENCE(instance_normalization_reference));
