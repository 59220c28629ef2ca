/* A lower bound of a split's step time, without a simulation: a split whose bound is above the best step so far need
 * not be simulated. */
#ifndef ONSTAGE_PLANNER_SEARCH_LEAST_STEP_H
#define ONSTAGE_PLANNER_SEARCH_LEAST_STEP_H

#include "planner/partition/partition.h"
#include "planner/partition/step_estimate.h"

/* Sets *seconds to a lower bound of the split's step: devices compute all the time but for filling and draining along
 * what stages send each other, and messages take no time. `walk`: of the problem's pipeline and schedule. `solutions`
 * NULL: nothing is computed again or copied either. O(stages² + what crosses their borders). */
ons_status *ons_least_step(const ons_planning_problem *problem, const ons_step_walk *walk, const uint32_t *first,
                           const ons_stage_solution *solutions, double *seconds);

#endif
