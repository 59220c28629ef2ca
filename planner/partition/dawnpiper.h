/* DawnPiper's parts (sections 4.1, 4.2, B.1, B.2), for dawnpiper.c and for tests of the theorem.
 *
 * Stages are numbered from 0 through the whole pipeline, also inside a recursion: `low` to `high`, both included. A
 * cut is the position of the first node behind it.
 */
#ifndef ONSTAGE_PLANNER_PARTITION_DAWNPIPER_H
#define ONSTAGE_PLANNER_PARTITION_DAWNPIPER_H

#include "planner/partition/partition.h"

/* Nodes [first, end) that are to become the stages low … high. */
typedef struct ons_cut_range {
    uint32_t first, end;
    uint32_t low, high;
} ons_cut_range;

typedef struct ons_balanced_cuts {
    uint32_t compute, memory; /* the paper's rho_cb and rho_mb: the cut behind stage `stage` */
} ons_balanced_cuts;

/* CompMemBalPartition: `compute` divides the time in the ratio of the stages on both sides, `memory` makes k_x M_x
 * equal for all stages of the span. Both leave each stage a node. */
ons_balanced_cuts ons_balance(const ons_planning_problem *problem, const ons_cut_range *span, uint32_t stage);

/* k_x M_x, where M_x is what one micro-batch needs of nodes [first, end), weights, gradients and states included. */
int64_t ons_balance_bytes(const ons_planning_problem *problem, uint32_t first, uint32_t end, uint32_t stage);

/* What IdentifyAndSort needs to know of the graph: for each node the nearest that every path from it to the end goes
 * through (node_count: only the end itself). */
typedef struct ons_cut_finder {
    const ons_planning_problem *problem;
    uint32_t *post_dominator;
    uint32_t *seen; /* by cut: the last list that it went into */
    uint32_t serial;
} ons_cut_finder;
ons_status *ons_cut_finder_make(const ons_planning_problem *problem, ons_arena *arena, ons_cut_finder *finder);

/* IdentifyAndSort: the cuts of the closed interval, after communication optimisation, without repeats, from the
 * compute-balanced one towards the memory-balanced one; at most node_count. Returns their number. */
uint32_t ons_identify_and_sort(ons_cut_finder *finder, const ons_cut_range *span, uint32_t stage,
                               const ons_balanced_cuts *interval, uint32_t *cuts);

/* BiPar over all stages: fills in first[0 … stages], unless nothing it looked at fits, or is faster than `limit`.
 * `candidate_cuts`: most at one level. */
ons_status *ons_dawnpiper_search(ons_stage_costs *costs, double limit, uint32_t *first, bool *found,
                                 uint32_t *candidate_cuts);

#endif
