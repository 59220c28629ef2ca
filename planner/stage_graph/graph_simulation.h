/* A step of a plan whose stages form a graph, in the event simulator: any replicas, sizes of micro-batches and paces.
 * (Where stages have one replica and one size of micro-batches, planner/simulate/pipeline_simulation.h simulates the
 * same lists, with the room for messages that a device has.) */
#ifndef ONSTAGE_PLANNER_STAGE_GRAPH_GRAPH_SIMULATION_H
#define ONSTAGE_PLANNER_STAGE_GRAPH_GRAPH_SIMULATION_H

#include "planner/simulate/simulate.h"
#include "planner/stage_graph/interval_costs.h"

/* Simulates the lists. A part waits for the parts of its neighbours that have the same samples; a device sends one
 * message at a time, and takes one at a time, in the order in which they would go if links were free; behind a stage's
 * last gradients come the sum over replicas and the update. Lists that wait for each other fail. `simulation`: all
 * tasks with their times; the caller frees it. */
ons_status *ons_stage_graph_simulate(const ons_stage_graph *graph, const ons_action_list *lists,
                                     ons_interval_costs *costs, ons_simulation **simulation);

#endif
