/* Gradient of Mish: from cotangent a and input b. */
#include <math.h>

#include "kernels/common/elementwise/binary.h"

static double mish_slope_of(double x) {
    double t = tanh(fmax(x, 0) + log1p(exp(-fabs(x))));
    return t + x * (1 - t * t) / (1 + exp(-x));
}

ONS_BINARY_FLOAT_REFERENCE(mish_gradient, a *mish_slope_of(b))

ONS_DEFINE_OPERATOR(mish_gradient, "MishGradient", ONS_INTERNAL, ONS_ARITY(2, 2, 1, 1), ONS_NO_ATTRIBUTES,
                    ONS_INFER(ons_infer_broadcast_floats), ONS_COST(ons_cost_elementwise),
                    ONS_NOT_DIFFERENTIABLE("it is itself a gradient"), ONS_SAVES_NOTHING,
                    ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ELEMENTWISE, 0),
                    ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}, {ONS_ALIAS_MAY, 0, 1}), ONS_FOLLOWS_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(mish_gradient_reference));
