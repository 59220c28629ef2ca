/* Absolute error: Σ |x - t| ÷ counted targets. */
#include "kernels/losses/pointwise_loss.h"

/* Difference, magnitude and sum. */
ONS_POINTWISE_LOSS_RULES(absolute_error, 3, fabs(x - t))

ONS_DEFINE_OPERATOR(absolute_error, "AbsoluteError", ONS_INTERNAL, ONS_ARITY(2, 2, 1, 1), ONS_NO_ATTRIBUTES,
                    ONS_INFER(ons_pointwise_loss_infer), ONS_COST(absolute_error_cost),
                    ONS_GRADIENT_RULE(absolute_error_gradient, ONS_INPUT_BIT(0)),
                    ONS_SAVES(ONS_INPUT_BIT(0) | ONS_INPUT_BIT(1), 0), ONS_ROLES(ONS_ROLE_ABSOLUTE_ERROR, 0, 0),
                    ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(absolute_error_reference));
