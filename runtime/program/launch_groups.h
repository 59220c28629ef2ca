/* Launch groups are nodes of a program that run as one launch: ons_kernel's run_multi_tensor takes nodes that do not
 * touch what another of them writes, so what each reads and writes is compared, to the byte. */
#ifndef ONSTAGE_RUNTIME_PROGRAM_LAUNCH_GROUPS_H
#define ONSTAGE_RUNTIME_PROGRAM_LAUNCH_GROUPS_H

#include "graph/execution_order.h"
#include "graph/operator.h"

/* The most nodes of one launch. */
enum { ONS_LAUNCH_GROUP_MOST = 512 };

/* For every position in the execution order: the first and last position of the nodes of the same operator that it
 * stands among with nothing that runs in between, within one part. */
typedef struct ons_launch_groups {
    uint32_t *first, *last;
} ons_launch_groups;

/* Finds the groups, in `arena`. `idle`: whether a node does not run; `multi_tensor`: whether its kernel takes several
 * nodes.
 */
ons_status *ons_launch_groups_find(const ons_graph *graph, const ons_execution_order *execution_order, const bool *idle,
                                   const bool *multi_tensor, ons_arena *arena, ons_launch_groups *groups);

typedef struct ons_extent {
    const char *first, *end;
} ons_extent;

/* What a node touches: `reads` extents that it reads, then those that it writes. */
typedef struct ons_touched {
    const ons_extent *extents;
    uint32_t reads, count;
} ons_touched;

/* Counts how many of `count` nodes, from the first on, can run as one launch. */
uint32_t ons_launch_group_count(const ons_touched *nodes, uint32_t count);

#endif
