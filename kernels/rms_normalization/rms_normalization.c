/* RMSNormalization: x / √(mean(x²) + epsilon) × scale over the axis and all after it. ONNX has it from opset 23 on;
 * below, it comes from the decomposed forms, or from a file that is ahead of its opset. */
#include "kernels/normalization/rms_norm.h"
#include "kernels/rms_normalization/patterns.h"

ONS_DEFINE_OPERATOR(rms_normalization, "RMSNormalization", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(2, 2, 1, 2),
                    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("axis", -1), ONS_FLOAT_ATTRIBUTE("epsilon", 1e-5),
                                   ONS_INT_ATTRIBUTE("stash_type", 1)),
                    ONS_INFER(ons_rms_norm_infer), ONS_COST(ons_rms_norm_cost),
                    ONS_GRADIENT_RULE(ons_rms_norm_gradient, ONS_ALL_INPUTS),
                    ONS_SAVES(ONS_INPUT_BIT(0) | ONS_INPUT_BIT(1), ONS_INPUT_BIT(1)),
                    ONS_ROLES_WITH_FULL(ONS_NO_ROLE, ONS_TRAIT_ANY_PRECISION | ONS_TRAIT_CHEAP_AGAIN, 0,
                                        ONS_INPUT_BIT(1)),
                    ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}), ONS_PLAIN_LAYOUT, ONS_FORMS(NULL, ons_rms_norm_patterns, NULL),
                    ONS_REFERENCE(ons_rms_norm_reference));
