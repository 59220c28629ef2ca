/* Huber loss: Σ (d²/2 where |d| ≤ delta, else delta (|d| - delta/2)) ÷ counted targets, d = x - t. */
#include "kernels/losses/pointwise_loss.h"

static double huber_of(double d, double delta) { return fabs(d) <= delta ? d * d / 2 : delta * (fabs(d) - delta / 2); }

/* Difference, magnitude, square, comparison and sum. */
ONS_POINTWISE_LOSS_RULES(huber, 5, huber_of(x - t, parameter))

ONS_DEFINE_OPERATOR(huber, "Huber", ONS_INTERNAL, ONS_ARITY(2, 2, 1, 1),
                    ONS_ATTRIBUTES(ONS_FLOAT_ATTRIBUTE("delta", 1)), ONS_INFER(ons_pointwise_loss_infer),
                    ONS_COST(huber_cost), ONS_GRADIENT_RULE(huber_gradient, ONS_INPUT_BIT(0)),
                    ONS_SAVES(ONS_INPUT_BIT(0) | ONS_INPUT_BIT(1), 0), ONS_ROLES(ONS_ROLE_HUBER, 0, 0), ONS_NO_ALIASES,
                    ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(huber_reference));
