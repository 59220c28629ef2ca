/* As many nodes, or layers, in every stage. */
#include "planner/partition/granularity.h"

static ons_status *search_uniform(ons_stage_costs *costs, const ons_granularity *granularity, ons_arena *arena,
                                  uint32_t *units) {
    uint32_t stages = ons_stage_costs_problem(costs)->pipeline.stages;
    for (uint32_t i = 0; i <= stages; ++i) units[i] = (uint32_t)((uint64_t)granularity->count * i / stages);
    return NULL;
}

static ons_status *split(ons_stage_costs *costs, ons_arena *arena, ons_partition *partition) {
    return ons_granularity_split(costs, false, search_uniform, arena, partition);
}

const ons_partition_strategy ons_partition_uniform = {"uniform", split, "as many nodes in every stage"};
