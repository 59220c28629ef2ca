/* SequenceConstruct: a sequence of the inputs. */
#include "kernels/sequences/sequences.h"

static ons_status *sequence_construct_resolve(ons_replacement *m) {
    return ons_replace_by_sequence(m, m->inputs, m->operands->input_count);
}

ONS_DEFINE_SEQUENCE_OPERATOR(sequence_construct, "SequenceConstruct", 11, ONS_ARITY(1, ONS_VARIADIC, 1, 1),
                             ONS_NO_ATTRIBUTES, sequence_construct_resolve);
