/* What a workload's graph is made of: parts in a row, where every node of one comes before every node of the next, and
 * branches side by side, between which nothing goes (GraphPipe, section 5). Nodes precede each other here by paths, so
 * connections that skip others change nothing.
 *
 *        ┌▶ b ─▶ c ─┐                              row
 *    a ──┤          ├─▶ f                    ┌──────┼──────┐
 *        └▶ d ─▶ e ─┘                        a   branches  f
 *                                               ┌───┴───┐
 *                                              row     row
 *                                              b c     d e
 *
 * A graph that is not made like that is converted to one that computes the same: where neither a row nor branches are
 * found, a set of nodes is made to precede all the others, such that as little work as can be loses its freedom.
 */
#ifndef ONSTAGE_PLANNER_STAGE_GRAPH_SERIES_PARALLEL_H
#define ONSTAGE_PLANNER_STAGE_GRAPH_SERIES_PARALLEL_H

#include "planner/workload/workload.h"

typedef enum ons_composition { ONS_COMPOSED_NODE, ONS_COMPOSED_ROW, ONS_COMPOSED_BRANCHES } ons_composition;

/* Children of a row are nodes and branches, those of branches nodes and rows; at least two. */
typedef struct ons_composed {
    ons_composition kind;
    uint32_t first, end;      /* positions in the order: those of its nodes */
    const uint32_t *children; /* numbers of parts */
    uint32_t child_count;
} ons_composed;

typedef struct ons_series_parallel {
    ons_composed *parts; /* the last one is the whole graph */
    uint32_t part_count;
    uint32_t *order;    /* [position]: node of the workload. Parts are intervals of it */
    uint64_t converted; /* pairs of nodes of which one is made to precede the other; 0: the graph is series-parallel */
} ons_series_parallel;

/* In which order branches side by side stand, by their seconds: neighbours may share a stage. */
typedef enum ons_arrangement {
    ONS_ARRANGED_FALLING, /* the longest first: the last, short ones can be one stage with what they all end in */
    ONS_ARRANGED_MIXED,   /* the longest, the shortest, the second longest, …: neighbours together are much alike */
    ONS_ARRANGEMENTS,
} ons_arrangement;

/* Decomposes the graph. O(nodes² / 64) for each level of the result, and O(nodes²) for a part that is converted.
 * Everything in `arena`. */
ons_status *ons_series_parallel_make(const ons_workload *work, ons_arrangement arrangement, ons_arena *arena,
                                     ons_series_parallel *result);

/* Makes one row of all nodes as they stand: what a planner sees that takes the graph for a line. */
ons_status *ons_series_parallel_line(const ons_workload *work, ons_arena *arena, ons_series_parallel *result);

#endif
