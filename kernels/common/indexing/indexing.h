/* Index operands: what Gather, Scatter and their relatives share. An index counts from the end where it is negative;
 * one outside its axis is a fault of the data, reported through the launch and never followed. */
#ifndef ONSTAGE_KERNELS_COMMON_INDEXING_INDEXING_H
#define ONSTAGE_KERNELS_COMMON_INDEXING_INDEXING_H

#include "base/host_device.h"
#include "kernels/common/layout/index.h"
#include "kernels/common/operator/kernel.h"

/* What a fault of an index is called. */
#define ONS_INDEX_PROBLEM "an index lies outside the axis that it looks up"

static inline int64_t ons_index_at(ons_dtype dtype, const void *indices, int64_t i) {
    return dtype == ONS_INT32 ? ((const int32_t *)indices)[i] : ((const int64_t *)indices)[i];
}

/* The index in [0, length), or -1 where it lies outside. */
static inline int64_t ons_resolve_index(int64_t index, int64_t length) {
    index += index < 0 ? length : 0;
    return index < 0 || index >= length ? -1 : index;
}

/* For inference: int64 or int32, and where the contents are known already every one of them within [-length, length).
 */
ons_status *ons_check_indices(const ons_operands *o, uint32_t input, int64_t length);

/* For references: index number `position`, which is `index`, in [0, length); -1 and a fault where it lies outside. */
int64_t ons_reference_index(const ons_step *step, int64_t position, int64_t index, int64_t length);

/* Notes the first index outside of its axis, counted from the beginning whatever thread comes upon it. */
void ons_fault_index(const ons_launch *launch, int64_t position, int64_t index);

/* The state of Gather's kernels and of its gradient's: a table of outer × length × inner, of which `count` rows are
 * looked up. It may be a shard: the rows [first, first + length) of a table of `entries`. */
typedef struct ons_gather {
    int64_t outer, length;
    int64_t inner; /* of Gather: in bytes */
    int64_t count;
    ons_dtype index_dtype;
    int64_t first, entries; /* of a whole table: 0, length */
    int64_t skipped;        /* of its gradient: the row that gets none; -1: there is no such row */
} ons_gather;

/* Which of the table's rows is meant by an index into the whole, or -1 where another shard has it, or none. */
ONS_HOST_DEVICE static inline int64_t ons_gather_row(const ons_gather *s, int64_t index) {
    index += s->entries & -(int64_t)(index < 0); /* no branch: which are negative cannot be told beforehand */
    index -= s->first;
    return index < 0 || index >= s->length ? -1 : index;
}

static const char ons_indexing_outside[] = ONS_INDEX_PROBLEM;

#endif
