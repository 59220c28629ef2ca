/* SequenceAt: one element of a sequence. */
#include "kernels/sequences/sequences.h"

static ons_status *sequence_at_resolve(ons_replacement *m) {
    const ons_value_id *items;
    uint32_t count, at;
    ONS_TRY(ons_replacement_sequence(m, 0, &items, &count));
    ONS_TRY(ons_sequence_position(m, 1, count, 0, &at));
    if (at >= count) return ons_node_error(m->operands, "element %u of a sequence of %u", at, count);
    m->outputs[0] = items[at];
    m->replaced = true;
    return NULL;
}

ONS_DEFINE_SEQUENCE_OPERATOR(sequence_at, "SequenceAt", 11, ONS_ARITY(2, 2, 1, 1), ONS_NO_ATTRIBUTES,
                             sequence_at_resolve);
