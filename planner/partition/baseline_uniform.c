/* As many nodes, or layers, in every stage. */
#include "planner/partition/grain.h"

static ons_status *search(ons_judge *judge, const ons_grain *grain, ons_arena *arena, uint32_t *units) {
    uint32_t stages = ons_judge_problem(judge)->pipeline.stages;
    for (uint32_t i = 0; i <= stages; ++i) units[i] = (uint32_t)((uint64_t)grain->count * i / stages);
    return NULL;
}

static ons_status *split(ons_judge *judge, ons_arena *arena, ons_partition *partition) {
    return ons_grain_split(judge, false, search, arena, partition);
}

const ons_partition_strategy ons_partition_uniform = {"uniform", split, "as many nodes in every stage"};
