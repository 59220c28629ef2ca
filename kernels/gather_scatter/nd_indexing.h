/* GatherND and ScatterND: the last axis of the indices holds index tuples into the leading axes of the data. */
#ifndef ONSTAGE_KERNELS_GATHER_SCATTER_ND_INDEXING_H
#define ONSTAGE_KERNELS_GATHER_SCATTER_ND_INDEXING_H

#include "kernels/common/indexing/indexing.h"

typedef struct ons_nd_indexing {
    int64_t batches;            /* leading axes that data and indices share */
    int64_t tuples;             /* per batch */
    int64_t slice;              /* elements that each tuple names */
    int64_t per_batch;          /* elements of the data in a batch */
    uint32_t depth;             /* numbers in a tuple */
    int64_t dims[ONS_RANK_MAX]; /* that they index */
    ons_dtype index_dtype;
} ons_nd_indexing;

/* Data of that shape and input 1 (indices). *tail: the data's first axis that no tuple indexes. */
ons_status *ons_nd_indexing_of(const ons_operands *o, const ons_shape *data, int64_t batch_dims,
                               ons_nd_indexing *indexing, uint32_t *tail);

/* The shape of what is looked up: the indices' without the last axis, then the data's axes from `tail` on. Fails where
 * its rank is too high. */
ons_status *ons_nd_indexing_shape(const ons_operands *o, const ons_shape *data, uint32_t tail, ons_shape *shape);

/* First element in the data that tuple `number` (over all batches) names, -1 where it lies outside; *bad is then the
 * offending index's position. `indices` are elements of `dtype`. */
int64_t ons_nd_indexing_at(const ons_nd_indexing *indexing, ons_dtype dtype, const void *indices, int64_t number,
                           int64_t *bad);

/* ons_nd_indexing_at for references: of words, and what lies outside is told. */
int64_t ons_nd_indexing_reference(const ons_nd_indexing *indexing, const ons_step *step, const void *indices,
                                  int64_t number);

/* Slices are worked on in pieces of so many elements; the pieces of one slice, and batches, are shared among threads.
 */
enum { ONS_ND_PIECE = 256 };
static inline int64_t ons_nd_pieces(const ons_nd_indexing *indexing) {
    return (indexing->slice + ONS_ND_PIECE - 1) / ONS_ND_PIECE;
}

/* Every tuple of the data's batch and piece of the slices that task `task` of batches × pieces has. */
typedef struct ons_nd_task {
    int64_t first, last;  /* tuples */
    int64_t begin, count; /* elements of a slice */
} ons_nd_task;
static inline ons_nd_task ons_nd_task_of(const ons_nd_indexing *indexing, int64_t task) {
    int64_t pieces = ons_nd_pieces(indexing), batch = task / pieces, begin = task % pieces * ONS_ND_PIECE;
    int64_t piece = ONS_ND_PIECE, count = indexing->slice - begin < piece ? indexing->slice - begin : piece;
    return (ons_nd_task){batch * indexing->tuples, (batch + 1) * indexing->tuples, begin, count};
}

#endif
