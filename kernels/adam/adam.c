/* Adam: weight decay goes into the gradient. */
#include "kernels/optimizers/optimizer.h"

ONS_ADAM_REFERENCE(adam, false)

ONS_DEFINE_OPERATOR(adam, "Adam", ONS_INTERNAL, ONS_ARITY(2, 6, 3, 4), ONS_ADAM_ATTRIBUTES(0),
                    ONS_INFER(ons_optimizer_infer), ONS_COST(ons_adam_cost), ONS_NOT_DIFFERENTIABLE("it is an update"),
                    ONS_SAVES_NOTHING, ONS_ROLES(ONS_ROLE_ADAM, 0, 0), ONS_UPDATES_TWO_STATES, ONS_FOLLOWS_LAYOUT,
                    ONS_ONE_FORM, ONS_REFERENCE(adam_reference));
