/* Squared error: Σ (x - t)² ÷ counted targets. */
#include "kernels/losses/pointwise_loss.h"

/* Difference, square and sum. */
ONS_POINTWISE_LOSS_RULES(squared_error, 3, (x - t) * (x - t))

ONS_DEFINE_OPERATOR(squared_error, "SquaredError", ONS_INTERNAL, ONS_ARITY(2, 2, 1, 1), ONS_NO_ATTRIBUTES,
                    ONS_INFER(ons_pointwise_loss_infer), ONS_COST(squared_error_cost),
                    ONS_GRADIENT_RULE(squared_error_gradient, ONS_INPUT_BIT(0)),
                    ONS_SAVES(ONS_INPUT_BIT(0) | ONS_INPUT_BIT(1), 0), ONS_ROLES(ONS_ROLE_SQUARED_ERROR, 0, 0),
                    ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(squared_error_reference));
