/* GatherND and ScatterND: the last axis of the indices holds index tuples into the leading axes of the data. */
#ifndef ONSTAGE_KERNELS_COMMON_ND_LOOKUP_H
#define ONSTAGE_KERNELS_COMMON_ND_LOOKUP_H

#include "kernels/common/lookup.h"

typedef struct ons_nd_lookup {
    int64_t batches;            /* leading axes that data and indices share */
    int64_t tuples;             /* per batch */
    int64_t slice;              /* elements that each tuple names */
    int64_t per_batch;          /* elements of the data in a batch */
    uint32_t depth;             /* numbers in a tuple */
    int64_t dims[ONS_RANK_MAX]; /* that they index */
    ons_dtype index_dtype;
} ons_nd_lookup;

/* Inputs 0 (data) and 1 (indices). *tail: the data's first axis that no tuple indexes. */
ons_status *ons_nd_lookup_of(const ons_operands *o, int64_t batch_dims, ons_nd_lookup *lookup, uint32_t *tail);

/* First element in the data that tuple `number` (over all batches) names, -1 where it lies outside; *bad is then the
 * offending index's position. `indices` are elements of `dtype`. */
int64_t ons_nd_lookup_at(const ons_nd_lookup *lookup, ons_dtype dtype, const void *indices, int64_t number,
                         int64_t *bad);

#endif
