/* Which nodes of a program run together: ons_kernel's run_several takes nodes that do not touch what another of them
 * writes, so what each reads and writes is compared, to the byte. */
#ifndef ONSTAGE_RUNTIME_PROGRAM_TOGETHER_H
#define ONSTAGE_RUNTIME_PROGRAM_TOGETHER_H

#include "graph/operator.h"
#include "graph/sequence.h"

/* At most so many at a time. */
enum { ONS_TOGETHER_MOST = 512 };

/* Of every position in the sequence: the first and last position of the nodes of the same operator that it stands among
 * with nothing that runs in between, within one part. Of each node: `idle`, that it does not run; `several`, that its
 * kernel takes several nodes. */
typedef struct ons_runs {
    uint32_t *first, *last;
} ons_runs;

/* Results in `arena`. */
ons_status *ons_runs_find(const ons_graph *graph, const ons_sequence *sequence, const bool *idle, const bool *several,
                          ons_arena *arena, ons_runs *runs);

typedef struct ons_extent {
    const char *first, *end;
} ons_extent;

/* What a node touches: `reads` extents that it reads, then those that it writes. */
typedef struct ons_touched {
    const ons_extent *extents;
    uint32_t reads, count;
} ons_touched;

/* How many of `count` nodes, from the first on, can run together. */
uint32_t ons_together_count(const ons_touched *nodes, uint32_t count);

#endif
