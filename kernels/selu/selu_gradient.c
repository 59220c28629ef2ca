/* Gradient of Selu: from cotangent a and output b, which is the exponential but for what was taken away. */
#include "kernels/common/elementwise/binary.h"

ONS_BINARY_FLOAT_REFERENCE(selu_gradient, b > 0 ? a * ons_attribute_float(o, 1)
                                                : a * (b + ons_attribute_float(o, 0) * ons_attribute_float(o, 1)))

ONS_DEFINE_OPERATOR(selu_gradient, "SeluGradient", ONS_INTERNAL, ONS_ARITY(2, 2, 1, 1),
                    ONS_ATTRIBUTES(ONS_FLOAT_ATTRIBUTE("alpha", 1.67326319217681884765625),
                                   ONS_FLOAT_ATTRIBUTE("gamma", 1.05070102214813232421875)),
                    ONS_INFER(ons_infer_broadcast_floats), ONS_COST(ons_cost_elementwise),
                    ONS_NOT_DIFFERENTIABLE("it is itself a gradient"), ONS_SAVES_NOTHING,
                    ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ELEMENTWISE, 0),
                    ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}, {ONS_ALIAS_MAY, 0, 1}), ONS_FOLLOWS_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(selu_gradient_reference));
