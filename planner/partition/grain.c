#include "planner/partition/grain.h"

ons_status *ons_grain_make(const ons_judge *judge, bool layers, ons_arena *arena, ons_grain *grain) {
    const ons_planning_problem *p = ons_judge_problem(judge);
    const ons_workload *work = p->work;
    *grain = (ons_grain){.layers = layers};
    ONS_NEW(grain->cuts, arena, (size_t)work->node_count + 1);
    ONS_NEW(grain->before, arena, (size_t)work->node_count + 1);
    for (uint32_t i = 1; i <= work->node_count; ++i) {
        bool together = layers && i < work->node_count && work->nodes[i].layer == work->nodes[i - 1].layer;
        if (!together) grain->cuts[++grain->count] = i;
    }
    for (uint32_t i = 0; i <= grain->count; ++i) grain->before[i] = ons_work_seconds(work, 0, grain->cuts[i]);
    ONS_CHECK(grain->count >= p->pipeline.stages, ONS_INVALID_ARGUMENT,
              "%u stages are more than the model's %u layers, and this strategy keeps layers whole; take fewer, or the "
              "strategy of the same name that ends in -nodes",
              p->pipeline.stages, grain->count);
    return NULL;
}

ons_status *ons_grain_split(ons_judge *judge, bool layers, ons_grain_search *search, ons_arena *arena,
                            ons_partition *partition) {
    uint32_t stages = ons_judge_problem(judge)->pipeline.stages, *units;
    ons_grain grain;
    *partition = (ons_partition){.stages = stages};
    ONS_TRY(ons_grain_make(judge, layers, arena, &grain));
    ONS_NEW(units, arena, (size_t)stages + 1);
    ONS_NEW(partition->first, arena, (size_t)stages + 1);
    ONS_TRY(search(judge, &grain, arena, units));
    for (uint32_t i = 0; i <= stages; ++i) partition->first[i] = grain.cuts[units[i]];
    return ons_partition_judge(judge, partition);
}
