/* ReverseSequence's kernels: what they were prepared with. */
#ifndef ONSTAGE_KERNELS_REVERSE_SEQUENCE_REVERSE_SEQUENCE_H
#define ONSTAGE_KERNELS_REVERSE_SEQUENCE_REVERSE_SEQUENCE_H

#include "kernels/common/operator/kernel.h"

#define ONS_REVERSE_SEQUENCE_PROBLEM "a sequence's length lies outside of the time axis"

typedef struct ons_reverse_sequence {
    int64_t rows, columns; /* axes 0 and 1 */
    int64_t slice;         /* bytes of what follows */
    int64_t slices;        /* 0 where they are empty */
    bool batch_first;
} ons_reverse_sequence;

#endif
