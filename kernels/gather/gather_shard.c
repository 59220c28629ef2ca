/* Gather from one shard of a table that is split along the axis of the lookup: where the index lies in another shard
 * the result is zero, so that the sum over the shards is the whole table's. */
#include "kernels/gather/gather.h"
#include "kernels/operators.h"

static ons_status *gather_shard_infer(ons_operands *o) {
    const ons_shape *data = &o->inputs[DATA].shape;
    int64_t entries = ons_attribute_int(o, ENTRIES);
    uint32_t axis;
    ONS_TRY(ons_node_axis(o, ons_attribute_int(o, AXIS), data->rank, &axis));
    ONS_TRY(ons_node_shard(o, ons_attribute_int(o, FIRST), data->dims[axis], entries));
    return ons_gather_infer_of(o, axis, entries);
}

static ons_status *gather_shard_gradient(ons_gradient *g) {
    const ons_operands *o = g->operands;
    const ons_shape *shape = &o->inputs[DATA].shape;
    g->gradients[DATA] =
        ons_build(g->builder, &ons_op_gather_shard_gradient, ONS_IN(g->cotangents[0], ons_gradient_input(g, INDICES)),
                  ONS_WITH(ONS_AT_INT(0, ons_attribute_int(o, AXIS)), ONS_AT_INTS(1, shape->rank, shape->dims),
                           {2, o->attributes[PADDING]}, ONS_AT_INT(3, ons_attribute_int(o, FIRST)),
                           ONS_AT_INT(4, ons_attribute_int(o, ENTRIES))));
    return NULL;
}

ONS_DEFINE_OPERATOR(gather_shard, "GatherShard", ONS_INTERNAL, ONS_ARITY(2, 2, 1, 1),
                    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("axis", 0),
                                   ONS_OPTIONAL_ATTRIBUTE("onstage_padding", ONS_ATTRIBUTE_INT),
                                   ONS_OPTIONAL_ATTRIBUTE("onstage_by_frequency", ONS_ATTRIBUTE_INT),
                                   ONS_REQUIRED_ATTRIBUTE("first", ONS_ATTRIBUTE_INT),
                                   ONS_REQUIRED_ATTRIBUTE("entries", ONS_ATTRIBUTE_INT)),
                    ONS_INFER(gather_shard_infer), ONS_COST(ons_cost_copy),
                    ONS_GRADIENT_RULE(gather_shard_gradient, ONS_INPUT_BIT(DATA)), ONS_SAVES(ONS_INPUT_BIT(INDICES), 0),
                    ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ANY_PRECISION | ONS_TRAIT_ALONG_AXIS, 0), ONS_NO_ALIASES,
                    ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(ons_gather_reference));
