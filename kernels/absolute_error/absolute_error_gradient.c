/* Gradient of the absolute error: the sign of x - t × cotangent ÷ counted targets; 0 where they are equal, as in
 * PyTorch. */
#include "kernels/losses/pointwise_loss.h"

/* Difference, sign and product. */
ONS_POINTWISE_LOSS_GRADIENT_RULES(absolute_error_gradient, 3, (((x > t) - (x < t))))

ONS_DEFINE_OPERATOR(absolute_error_gradient, "AbsoluteErrorGradient", ONS_INTERNAL, ONS_ARITY(3, 3, 1, 1),
                    ONS_NO_ATTRIBUTES, ONS_INFER(ons_pointwise_loss_gradient_infer),
                    ONS_COST(absolute_error_gradient_cost), ONS_NOT_DIFFERENTIABLE("it is itself a gradient"),
                    ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR, ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}), ONS_PLAIN_LAYOUT,
                    ONS_ONE_FORM, ONS_REFERENCE(absolute_error_gradient_reference));
