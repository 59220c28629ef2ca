/* Bisection splits a chain whose costs are monotone: a longer stage never costs less. Then, under a limit on the
 * bottleneck, every stage may take as many nodes as it can, and bisection on the limit finds the optimum. Seconds
 * without memory are monotone; with swap and recompute they are as far as the memory strategy is sound, so what comes
 * out is then a good bound, not a proof (exact.c). Nor is it one where devices differ: no stage is empty, and a node
 * that is too long for a slow device may have to wait for a faster one, for which stages in front must be shorter.
 */
#ifndef ONSTAGE_PLANNER_PARTITION_BISECTION_H
#define ONSTAGE_PLANNER_PARTITION_BISECTION_H

#include "planner/partition/partition.h"

typedef struct ons_bisection_options {
    bool relaxed;     /* as if memory had no end: a lower bound of everything */
    double tolerance; /* relative, of the bottleneck */
    double at_least;  /* a known lower bound of the bottleneck, 0 where there is none */
    double guess;     /* about what it may be, 0: near the lower bound */
    double at_most;   /* what is slower is not wanted, 0: no limit */
    bool closer;      /* where costs are not quite monotone, tries once more what bisection calls too little */
} ons_bisection_options;

/* Finds the smallest bottleneck; fills in first[0 … stages]. Where the stages do not fit, the bottleneck is infinite.
 * The search tries some ten to forty limits, O(stages log n) each; few of them evaluate a stage that was not evaluated
 * before. */
ons_status *ons_bisection_search(ons_stage_costs *costs, const ons_bisection_options *options, uint32_t *first,
                                 double *bottleneck);

/* Tests whether no more bytes cross the cut than the two next to it: a stage that begins or ends there may need less
 * memory, and take less time, than one that is a node shorter. */
bool ons_cut_is_local_minimum(const ons_workload *work, uint32_t cut);

/* Finds the furthest cut in front of each stage that can be reached from the beginning, and the earliest from which the
 * end can still be reached, where every stage takes no longer than `limit` and holds its weights within the capacity,
 * whatever else is swapped. What lies outside cannot be part of a split that is better. Both have stages + 1 entries.
 */
void ons_bisection_windows(const ons_stage_costs *costs, double limit, uint32_t *earliest, uint32_t *furthest);

/* Sets *fits to false where it is plain that nothing fits the capacity, whatever is decided about tensors. It is quick.
 */
ons_status *ons_bisection_may_fit(ons_stage_costs *costs, bool *fits);

/* An attempt tests whether stages can be found for the present capacity of the costs. */
typedef ons_status *ons_partition_attempt(ons_stage_costs *costs, void *context, bool *found);
/* Finds the smallest capacity with which `attempt` succeeds, to within 1/64, starting from the present one, with which
 * it did not. The capacity of the costs is as before. */
ons_status *ons_bisection_least_capacity(ons_stage_costs *costs, ons_partition_attempt *attempt, void *context,
                                         int64_t *least);

/* The attempt that makes stages as long as they can be; its context is not used. */
ons_partition_attempt ons_bisection_attempt;

#endif
