/* RandomNormalLike: the same numbers as RandomNormal's in the shape of the input, whose contents do not matter. */
#include "kernels/common/elementwise/unary.h"
#include "kernels/random/random.h"

ONS_DEFINE_OPERATOR(random_normal_like, "RandomNormalLike", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(1, 1, 1, 1),
                    ONS_ATTRIBUTES(ONS_RANDOM_NORMAL_ATTRIBUTES, ONS_FIRST_ELEMENT_ATTRIBUTE,
                                   ONS_UNIT_ELEMENTS_ATTRIBUTE),
                    ONS_INFER(ons_random_like_infer), ONS_COST(ons_random_cost),
                    ONS_GRADIENT_RULE(ons_gradient_stops, ONS_ALL_INPUTS), ONS_SAVES_NOTHING,
                    ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_RANDOM, 0), ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(ons_random_normal_reference));
