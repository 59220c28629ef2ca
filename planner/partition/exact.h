/* The dynamic program of exact.c, for searches that have an answer already. */
#ifndef ONSTAGE_PLANNER_PARTITION_EXACT_H
#define ONSTAGE_PLANNER_PARTITION_EXACT_H

#include "planner/partition/partition.h"

/* Looks through all splits for one whose bottleneck is below `*bottleneck` (infinite: none is known), and puts it in
 * its place. `at_least`: a lower bound of every bottleneck. `node_budget`: gives up, leaving what was given, after
 * optimising stages of so many nodes together; 0: goes on to the end. `proven`: nothing better than the answer exists.
 */
ons_status *ons_exact_improve(ons_stage_costs *costs, double at_least, uint64_t node_budget, uint32_t *first,
                              double *bottleneck, bool *proven);

#endif
