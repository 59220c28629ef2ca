/* RandomUniform: a tensor of numbers in [low, high), drawn anew at every run. */
#include "kernels/random/random.h"

ONS_DEFINE_OPERATOR(random_uniform, "RandomUniform", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(0, 0, 1, 1),
                    ONS_ATTRIBUTES(ONS_RANDOM_UNIFORM_ATTRIBUTES, ONS_REQUIRED_ATTRIBUTE("shape", ONS_ATTRIBUTE_INTS)),
                    ONS_INFER(ons_random_infer), ONS_COST(ons_random_cost), ONS_NOT_DIFFERENTIABLE("it has no inputs"),
                    ONS_SAVES_NOTHING, ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_RANDOM, 0), ONS_NO_ALIASES, ONS_PLAIN_LAYOUT,
                    ONS_ONE_FORM, ONS_REFERENCE(ons_random_uniform_reference));
