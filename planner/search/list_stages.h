/* Which stage of a graph is which in lists that somebody wrote: stages beside each other may have their numbers in any
 * order, and lists that wait for the right stages under one numbering wait for ever under another. */
#ifndef ONSTAGE_PLANNER_SEARCH_LIST_STAGES_H
#define ONSTAGE_PLANNER_SEARCH_LIST_STAGES_H

#include "planner/stage_graph/stage_graph.h"

/* Numbers the stages anew, so that the schedule can run them: of the orders in which each comes behind those that it
 * waits for, the graph's own first, a thousand at most, the first one in which stages have as many micro-batches in
 * flight as the graph wants for them, or nearly. Where none of these can be run the graph's own stays, and
 * ons_schedule_verify has a reason. `work` has the nodes in the file's order; `numbered` has order and edges of its
 * own. In `arena`. */
ons_status *ons_list_stages_number(const ons_stage_graph *graph, const ons_workload *work, const ons_schedule *schedule,
                                   ons_arena *arena, ons_stage_graph *numbered);

#endif
