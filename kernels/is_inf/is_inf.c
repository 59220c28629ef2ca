/* IsInf: whether an element is infinite, with the signs that the attributes ask for. */
#include "kernels/is_inf/is_inf.h"

#include <math.h>

#include "kernels/common/elementwise/unary.h"

ONS_UNARY_REFERENCE(is_inf, double, int64_t,
                    (x == -INFINITY && ons_attribute_int(o, DETECT_NEGATIVE) != 0) ||
                        (x == INFINITY && ons_attribute_int(o, DETECT_POSITIVE) != 0))
/* The parameters are the infinities to be found, NaN where one is not. */

ONS_DEFINE_OPERATOR(is_inf, "IsInf", ONS_ONNX(10, ONS_NEWEST), ONS_ARITY(1, 1, 1, 1),
                    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("detect_negative", 1), ONS_INT_ATTRIBUTE("detect_positive", 1)),
                    ONS_INFER(ons_infer_float_test), ONS_COST(ons_cost_elementwise),
                    ONS_NOT_DIFFERENTIABLE("the result is bool"), ONS_SAVES_NOTHING,
                    ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ELEMENTWISE | ONS_TRAIT_FULL_PRECISION, 0), ONS_NO_ALIASES,
                    ONS_FOLLOWS_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(is_inf_reference));
