/* SequenceLength: how many elements a sequence has. */
#include "kernels/sequences/sequences.h"

static ons_status *sequence_length_resolve(ons_replacement *m) {
    const ons_value_id *items;
    uint32_t count;
    ONS_TRY(ons_replacement_sequence(m, 0, &items, &count));
    m->outputs[0] = ons_build_scalar(m->builder, ONS_INT64, count);
    m->replaced = true;
    return NULL;
}

ONS_DEFINE_SEQUENCE_OPERATOR(sequence_length, "SequenceLength", 11, ONS_ARITY(1, 1, 1, 1), ONS_NO_ATTRIBUTES,
                             sequence_length_resolve);
