/* The schedules of a portfolio, made but not planned. */
#ifndef ONSTAGE_PLANNER_SEARCH_CANDIDATES_H
#define ONSTAGE_PLANNER_SEARCH_CANDIDATES_H

#include "planner/search/portfolio.h"

/* Lists the candidates, in `arena`. 1F1B, or what comes nearest to it with as many stages, is the first. Each has its
 * schedule and estimate, or the outcome that it cannot be taken. */
ons_status *ons_portfolio_list(const ons_planning_problem *problem, const ons_portfolio_options *options,
                               ons_arena *arena, ons_portfolio_candidate **candidates, uint32_t *count);

#endif
