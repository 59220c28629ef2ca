/* SequenceErase: the sequence without its last element, or without the one at a position. */
#include "kernels/sequences/sequences.h"

static ons_status *sequence_erase_resolve(ons_replacement *m) {
    const ons_value_id *items;
    uint32_t count, at;
    ONS_TRY(ons_replacement_sequence(m, 0, &items, &count));
    if (count == 0) return ons_node_error(m->operands, "the sequence has no element to erase");
    ONS_TRY(ons_sequence_position(m, 1, count, count - 1, &at));
    if (at >= count) return ons_node_error(m->operands, "element %u of a sequence of %u", at, count);
    ons_value_id *shorter;
    ONS_NEW(shorter, m->builder->graph->arena, count);
    for (uint32_t i = 0; i + 1 < count; ++i) shorter[i] = items[i < at ? i : i + 1];
    return ons_replace_by_sequence(m, shorter, count - 1);
}

ONS_DEFINE_SEQUENCE_OPERATOR(sequence_erase, "SequenceErase", 11, ONS_ARITY(1, 2, 1, 1), ONS_NO_ATTRIBUTES,
                             sequence_erase_resolve);
