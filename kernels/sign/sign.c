/* Sign: -1, 0 or 1; NaN stays NaN. */
#include "kernels/common/elementwise/unary.h"

ONS_UNARY_NUMBER_REFERENCE(sign, x > 0 ? 1 : x < 0 ? -1 : x, (x > 0) - (x < 0), x != 0)

ONS_DEFINE_UNARY(sign, "Sign", ONS_ONNX(9, ONS_NEWEST), ONS_NO_ATTRIBUTES, ONS_INFER(ons_infer_number_unary),
                 ONS_GRADIENT_RULE(ons_gradient_stops, ONS_ALL_INPUTS), ONS_SAVES_NOTHING, ONS_ELEMENTWISE_OPERATOR,
                 ONS_ONE_FORM, ONS_REFERENCE(sign_reference));
