/* IsNaN: whether an element is not a number. */
#include "kernels/common/elementwise/unary.h"

ONS_UNARY_REFERENCE(is_nan, double, int64_t, x != x)

ONS_DEFINE_OPERATOR(is_nan, "IsNaN", ONS_ONNX(9, ONS_NEWEST), ONS_ARITY(1, 1, 1, 1), ONS_NO_ATTRIBUTES,
                    ONS_INFER(ons_infer_float_test), ONS_COST(ons_cost_elementwise),
                    ONS_NOT_DIFFERENTIABLE("the result is bool"), ONS_SAVES_NOTHING,
                    ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ELEMENTWISE | ONS_TRAIT_FULL_PRECISION, 0), ONS_NO_ALIASES,
                    ONS_FOLLOWS_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(is_nan_reference));
