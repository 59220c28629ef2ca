/* Splitting a chain where costs are monotone: a longer stage never costs less. Then, under a limit on the bottleneck,
 * every stage may take as many nodes as it can, and bisection on the limit finds the optimum. Seconds without memory
 * are monotone; with swap and recompute they are as far as the memory strategy is sound, so what comes out is then a
 * good bound, not a proof (exact.c).
 */
#ifndef ONSTAGE_PLANNER_PARTITION_REACH_H
#define ONSTAGE_PLANNER_PARTITION_REACH_H

#include "planner/partition/partition.h"

typedef struct ons_reach {
    bool relaxed;     /* as if memory had no end: a lower bound of everything */
    double tolerance; /* relative, of the bottleneck */
    double at_least;  /* a known lower bound of the bottleneck, 0 where there is none */
    double guess;     /* about what it may be, 0: near the lower bound */
    double at_most;   /* what is slower is not wanted, 0: no limit */
    bool closer;      /* where costs are not quite monotone, tries once more what bisection calls too little */
} ons_reach;

/* The smallest bottleneck; fills in first[0 … stages]. Not found: the stages do not fit (bottleneck infinite). Some
 * ten to forty trials of a limit, O(stages log n) each, of which few judge a stage that was not judged before. */
ons_status *ons_reach_search(ons_judge *judge, const ons_reach *options, uint32_t *first, double *bottleneck);

/* Whether no more crosses the cut than those next to it: a stage that begins or ends there may need less memory, and
 * take less time, than one that is a node shorter. */
bool ons_reach_is_quiet(const ons_workload *work, uint32_t cut);

/* For stages from 0 on and for stages up to the last: the furthest cut in front of each stage that can be reached, and
 * the earliest from which the end can still be, where every stage takes no longer than `limit` and holds its weights
 * within the capacity, whatever else is swapped. What lies outside cannot be part of a split that is better. Both have
 * stages + 1 entries. */
void ons_reach_windows(const ons_judge *judge, double limit, uint32_t *earliest, uint32_t *furthest);

/* False: it is plain that nothing fits the judge's capacity, whatever is decided about tensors. Quick. */
ons_status *ons_reach_may_fit(ons_judge *judge, bool *fits);

/* Whether stages can be found for the capacity that the judge asks about now. */
typedef ons_status *ons_partition_attempt(ons_judge *judge, void *context, bool *found);
/* The smallest capacity with which `attempt` succeeds, to within 1/64, starting from the judge's, with which it did
 * not. The judge's capacity is as before. */
ons_status *ons_reach_least_capacity(ons_judge *judge, ons_partition_attempt *attempt, void *context, int64_t *least);

/* An attempt for it, context unused: stages as long as they can be. */
ons_partition_attempt ons_reach_attempt;

#endif
