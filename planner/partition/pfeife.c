/* Pfeife's strategy, for the pipeline that is asked for: cuts moved on the critical path of its step. Of schedules it
 * takes the one that is given; planner/search/pfeife.h looks for both. */
#include "planner/partition/beam.h"

/* Where a device's stages do not fit together as they are, swapping and recomputing may help each; Pfeife does neither,
 * and what its devices lack is then what is said. */
static ons_status *split(ons_judge *judge, ons_arena *arena, ons_partition *partition) {
    const ons_planning_problem *p = ons_judge_problem(judge);
    const ons_beam_options options = {.part_seconds = 0};
    ons_beam_split found;
    ONS_TRY(ons_beam_search(p, &options, arena, &found));
    *partition = (ons_partition){.stages = p->pipeline.stages, .first = found.first};
    ONS_TRY(ons_partition_judge(judge, partition));
    int64_t least = p->capacity_bytes + found.over_bytes;
    if (found.over_bytes == 0 || p->schedule->devices == p->pipeline.stages) return NULL;
    partition->feasible = false;
    if (partition->least_bytes < least) partition->least_bytes = least;
    return NULL;
}

const ons_partition_strategy ons_partition_pfeife = {"pfeife", split,
                                                     "a beam of cuts moved on the step's critical path"};
