/* Pfeife's strategy, for the pipeline that is asked for: cuts moved on the critical path of its step. Of schedules it
 * takes the one that is given; planner/search/pfeife.h looks for both. */
#include "planner/partition/beam.h"

static ons_status *split(ons_stage_costs *costs, ons_arena *arena, ons_partition *partition) {
    const ons_planning_problem *p = ons_stage_costs_problem(costs);
    const ons_beam_options options = {.part_seconds = 0};
    ons_beam_split found;
    ONS_TRY(ons_beam_search(p, &options, arena, &found));
    *partition = (ons_partition){.stages = p->pipeline.stages, .first = found.first};
    return ons_partition_evaluate(costs, partition);
}

const ons_partition_strategy ons_partition_pfeife = {"pfeife", split,
                                                     "a beam of cuts moved on the step's critical path"};
