/* Less than what a split takes for a step, without a simulation: most splits need not be simulated. */
#ifndef ONSTAGE_PLANNER_SEARCH_LEAST_STEP_H
#define ONSTAGE_PLANNER_SEARCH_LEAST_STEP_H

#include "planner/partition/partition.h"
#include "planner/partition/step_estimate.h"

/* Finds seconds than which no step of the split is faster: devices compute all the time but for filling and draining
 * along what stages send each other, and nothing is sent. `walk`: of the problem's pipeline and schedule. `solutions`
 * NULL: nothing is computed again or copied either. O(stages² + what crosses their borders). */
ons_status *ons_least_step(const ons_planning_problem *problem, const ons_step_walk *walk, const uint32_t *first,
                           const ons_stage_solution *solutions, double *seconds);

#endif
