/* Scatter: what ScatterElements was called before opset 11, without a reduction. */
#include "kernels/gather_scatter/scatter_lines.h"

ONS_DEFINE_OPERATOR(scatter, "Scatter", ONS_ONNX(9, ONS_NEWEST), ONS_ARITY(3, 3, 1, 1),
                    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("axis", 0)), ONS_INFER(ons_scatter_lines_infer),
                    ONS_COST(ons_cost_copy),
                    ONS_GRADIENT_RULE(ons_scatter_lines_gradient, ONS_INPUT_BIT(0) | ONS_INPUT_BIT(2)),
                    ONS_SAVES(ONS_INPUT_BIT(1), 0),
                    ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ALONG_AXIS | ONS_TRAIT_TOGETHER, 0),
                    ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}), ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(ons_scatter_lines_reference));
