/* The gradient of GatherShard: GatherGradient of the places whose rows the shard has; the others' cotangents are for
 * other shards. */
#include "kernels/gather/gather_gradient.h"

ONS_DEFINE_OPERATOR(gather_shard_gradient, "GatherShardGradient", ONS_INTERNAL, ONS_ARITY(2, 2, 1, 1),
                    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("axis", 0), ONS_REQUIRED_ATTRIBUTE("shape", ONS_ATTRIBUTE_INTS),
                                   ONS_OPTIONAL_ATTRIBUTE("onstage_padding", ONS_ATTRIBUTE_INT),
                                   ONS_REQUIRED_ATTRIBUTE("first", ONS_ATTRIBUTE_INT),
                                   ONS_REQUIRED_ATTRIBUTE("entries", ONS_ATTRIBUTE_INT)),
                    ONS_INFER(ons_gather_gradient_infer), ONS_COST(ons_cost_each_input),
                    ONS_NOT_DIFFERENTIABLE("a gradient"), ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR, ONS_NO_ALIASES,
                    ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(ons_gather_gradient_reference));
