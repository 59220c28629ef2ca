/* Gradient of the squared error: 2 (x - t) × cotangent ÷ counted targets. */
#include "kernels/losses/pointwise_loss.h"

/* Difference and two products. */
ONS_POINTWISE_LOSS_GRADIENT_RULES(squared_error_gradient, 3, (2 * (x - t)))

ONS_DEFINE_OPERATOR(squared_error_gradient, "SquaredErrorGradient", ONS_INTERNAL, ONS_ARITY(3, 3, 1, 1),
                    ONS_NO_ATTRIBUTES, ONS_INFER(ons_pointwise_loss_gradient_infer),
                    ONS_COST(squared_error_gradient_cost), ONS_NOT_DIFFERENTIABLE("it is itself a gradient"),
                    ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR, ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}), ONS_PLAIN_LAYOUT,
                    ONS_ONE_FORM, ONS_REFERENCE(squared_error_gradient_reference));
