/* What every stage holds from step to step: weights, tables, optimiser states, accumulators. */
#ifndef ONSTAGE_PLANNER_COST_GRAPH_WEIGHTS_H
#define ONSTAGE_PLANNER_COST_GRAPH_WEIGHTS_H

#include "planner/cost/graph_work.h"

/* Fills in work.weights; the positions of `r` are known. */
ons_status *ons_graph_weights_find(const ons_graph_work_options *options, ons_graph_work *r, ons_arena *arena);

#endif
