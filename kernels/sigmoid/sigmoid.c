/* Sigmoid: 1 / (1 + e⁻ˣ). */
#include <math.h>

#include "kernels/common/elementwise/unary.h"
#include "kernels/common/operator/rules.h"
#include "kernels/operators.h"

ONS_UNARY_FLOAT_REFERENCE(sigmoid, 1 / (1 + exp(-x)))

ONS_GRADIENT_BY_OUTPUT(sigmoid)

ONS_DEFINE_UNARY(sigmoid, "Sigmoid", ONS_ONNX(1, ONS_NEWEST), ONS_NO_ATTRIBUTES, ONS_INFER(ons_infer_float_unary),
                 ONS_GRADIENT_RULE(sigmoid_gradient, ONS_ALL_INPUTS), ONS_SAVES(0, ONS_INPUT_BIT(0)),
                 ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ELEMENTWISE | ONS_TRAIT_PROBABILITIES, 0), ONS_ONE_FORM,
                 ONS_REFERENCE(sigmoid_reference));
