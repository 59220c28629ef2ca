/* Binary cross entropy with logits: Σ (max(x, 0) - x t + log(1 + e^-|x|)) ÷ counted targets. */
#include "kernels/losses/pointwise_loss.h"

/* Maximum, product, exponential, logarithm and three sums. */
ONS_POINTWISE_LOSS_RULES(binary_cross_entropy, 7, fmax(x, 0) - x * t + log1p(exp(-fabs(x))))

ONS_DEFINE_OPERATOR(binary_cross_entropy, "BinaryCrossEntropy", ONS_INTERNAL, ONS_ARITY(2, 2, 1, 1), ONS_NO_ATTRIBUTES,
                    ONS_INFER(ons_pointwise_loss_infer), ONS_COST(binary_cross_entropy_cost),
                    ONS_GRADIENT_RULE(binary_cross_entropy_gradient, ONS_INPUT_BIT(0)),
                    ONS_SAVES(ONS_INPUT_BIT(0) | ONS_INPUT_BIT(1), 0), ONS_ROLES(ONS_ROLE_BINARY_CROSS_ENTROPY, 0, 0),
                    ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(binary_cross_entropy_reference));
