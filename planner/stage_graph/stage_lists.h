/* What each stage of a plan computes, in order: forward parts as far ahead as samples may be in flight, then as many
 * backward and forward parts in turn as its pace says, then the backward parts that are left, and the update
 * (GraphPipe, section 6). A backward part runs as early as that allows. */
#ifndef ONSTAGE_PLANNER_STAGE_GRAPH_STAGE_LISTS_H
#define ONSTAGE_PLANNER_STAGE_GRAPH_STAGE_LISTS_H

#include "planner/schedule/schedule.h"
#include "planner/stage_graph/stage_graph.h"

/* Makes the stages' lists; all replicas of a stage follow the same one. Micro-batches are numbered by stage: number j
 * of a stage has the samples from j times its size on. In `arena`. */
ons_status *ons_stage_lists_make(const ons_stage_graph *graph, ons_arena *arena, ons_action_list **lists);

/* Counts the samples in flight of a stage by its list: the most between their forward and their backward parts. */
int64_t ons_stage_lists_in_flight(const ons_stage_graph *graph, const ons_action_list *lists, uint32_t stage);

/* Checks lists, whoever made them: forward and backward parts of all micro-batches, each once and in ascending order,
 * forward before backward (C4 of the paper); samples in flight are no more than the plan says. */
ons_status *ons_stage_lists_check(const ons_stage_graph *graph, const ons_action_list *lists);

/* Makes the schedule of a plan. A unit of its step has `unit` samples; 0: as many as all stages' replicas take a whole
 * number of at once, at most. Replica i of a stage is its copy number i, on device first_device + i. Where stages have
 * one replica, and micro-batches of a unit, there are no groupings. In `arena`. */
ons_status *ons_stage_lists_schedule(const ons_stage_graph *graph, int64_t unit, ons_arena *arena,
                                     ons_schedule *schedule);

#endif
