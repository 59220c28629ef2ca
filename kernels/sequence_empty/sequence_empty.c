/* SequenceEmpty: a sequence without elements. */
#include "kernels/sequences/sequences.h"

static ons_status *sequence_empty_resolve(ons_replacement *m) { return ons_replace_by_sequence(m, NULL, 0); }

ONS_DEFINE_SEQUENCE_OPERATOR(sequence_empty, "SequenceEmpty", 11, ONS_ARITY(0, 0, 1, 1),
                             ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("dtype", 1)), sequence_empty_resolve);
