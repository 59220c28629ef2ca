/* ConcatFromSequence: the elements of a sequence joined along an axis, which may be a new one. */
#include "kernels/operators.h"
#include "kernels/sequences/sequences.h"

enum { AXIS, NEW_AXIS };

static ons_status *concat_from_sequence_resolve(ons_replacement *m) {
    const ons_value_id *items;
    uint32_t count, axis;
    ONS_TRY(ons_replacement_sequence(m, 0, &items, &count));
    if (count == 0) return ons_node_error(m->operands, "the sequence is empty");
    if (ons_attribute_int(m->operands, NEW_AXIS) == 0)
        return ons_replace_by(m, &ons_op_concat, (ons_inputs){items, count},
                              ONS_WITH(ONS_AT_INT(0, ons_attribute_int(m->operands, AXIS))));
    uint32_t rank = ons_builder_type(m->builder, items[0]).shape.rank;
    ONS_TRY(ons_node_axis(m->operands, ons_attribute_int(m->operands, AXIS), rank + 1, &axis));
    m->replaced = true;
    return ons_replacement_stack(m, items, count, axis, &m->outputs[0]);
}

ONS_DEFINE_SEQUENCE_OPERATOR(concat_from_sequence, "ConcatFromSequence", 11, ONS_ARITY(1, 1, 1, 1),
                             ONS_ATTRIBUTES(ONS_REQUIRED_ATTRIBUTE("axis", ONS_ATTRIBUTE_INT),
                                            ONS_INT_ATTRIBUTE("new_axis", 0)),
                             concat_from_sequence_resolve);
