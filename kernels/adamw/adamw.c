/* AdamW: weight decay comes straight off the parameter. */
#include "kernels/optimizers/optimizer.h"

ONS_ADAM_REFERENCE(adamw, true)

ONS_DEFINE_OPERATOR(adamw, "AdamW", ONS_INTERNAL, ONS_ARITY(2, 6, 3, 4), ONS_ADAM_ATTRIBUTES(0.01),
                    ONS_INFER(ons_optimizer_infer), ONS_COST(ons_adam_cost), ONS_NOT_DIFFERENTIABLE("it is an update"),
                    ONS_SAVES_NOTHING, ONS_ROLES(ONS_ROLE_ADAMW, 0, 0), ONS_UPDATES_TWO_STATES, ONS_FOLLOWS_LAYOUT,
                    ONS_ONE_FORM, ONS_REFERENCE(adamw_reference));
