/* SequenceInsert: the sequence with one more element, at its end or before a position. */
#include "kernels/sequences/sequences.h"

static ons_status *sequence_insert_resolve(ons_replacement *m) {
    const ons_value_id *items;
    uint32_t count, at;
    ONS_TRY(ons_replacement_sequence(m, 0, &items, &count));
    ONS_TRY(ons_sequence_position(m, 2, count, count, &at));
    ons_value_id *longer;
    ONS_NEW(longer, m->builder->graph->arena, (size_t)count + 1);
    for (uint32_t i = 0; i <= count; ++i) longer[i] = i < at ? items[i] : i == at ? m->inputs[1] : items[i - 1];
    return ons_replace_by_sequence(m, longer, count + 1);
}

ONS_DEFINE_SEQUENCE_OPERATOR(sequence_insert, "SequenceInsert", 11, ONS_ARITY(2, 3, 1, 1), ONS_NO_ATTRIBUTES,
                             sequence_insert_resolve);
