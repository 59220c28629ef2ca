/* What is known of stages, remembered over schedules: most of those that are tried in one search give a stage one of
 * few loads, and a memory strategy takes long to say what the least is that it can do. */
#ifndef ONSTAGE_PLANNER_SEARCH_STAGE_MEMO_H
#define ONSTAGE_PLANNER_SEARCH_STAGE_MEMO_H

#include "planner/partition/partition.h"

/* What is known of stages of a workload, under one memory strategy. */
typedef struct ons_stage_memo ons_stage_memo;
ons_status *ons_stage_memo_new(ons_stage_memo **memo);
void ons_stage_memo_free(ons_stage_memo *memo); /* NULL is fine */

/* Evaluates a stage of `costs` (whose capacity changes to this one) where that is not known. `exactly`: see
 * ons_stage_costs_evaluate_exactly. */
ons_status *ons_stage_memo_evaluate(ons_stage_memo *memo, ons_stage_costs *costs, uint32_t first, uint32_t end,
                                    uint32_t stage, int64_t capacity, bool exactly, ons_stage_evaluation *evaluation);

/* Gives the decisions of a stage that was found to fit; they are the memo's. */
ons_status *ons_stage_memo_solve(ons_stage_memo *memo, ons_stage_costs *costs, uint32_t first, uint32_t end,
                                 uint32_t stage, int64_t capacity, ons_stage_solution *solution);

#endif
