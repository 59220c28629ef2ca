#include "planner/partition/granularity.h"

ons_status *ons_granularity_make(const ons_stage_costs *costs, bool layers, ons_arena *arena,
                                 ons_granularity *granularity) {
    const ons_planning_problem *p = ons_stage_costs_problem(costs);
    const ons_workload *work = p->work;
    *granularity = (ons_granularity){.layers = layers};
    ONS_NEW(granularity->cuts, arena, (size_t)work->node_count + 1);
    ONS_NEW(granularity->before, arena, (size_t)work->node_count + 1);
    for (uint32_t i = 1; i <= work->node_count; ++i) {
        bool together = layers && i < work->node_count && work->nodes[i].layer == work->nodes[i - 1].layer;
        if (!together) granularity->cuts[++granularity->count] = i;
    }
    for (uint32_t i = 0; i <= granularity->count; ++i)
        granularity->before[i] = ons_work_seconds(work, 0, granularity->cuts[i]);
    ONS_CHECK(granularity->count >= p->pipeline.stages, ONS_INVALID_ARGUMENT,
              "%u stages are more than the model's %u layers, and this strategy keeps layers whole; take fewer, or the "
              "strategy of the same name that ends in -nodes",
              p->pipeline.stages, granularity->count);
    return NULL;
}

ons_status *ons_granularity_split(ons_stage_costs *costs, bool layers, ons_granularity_search *search, ons_arena *arena,
                                  ons_partition *partition) {
    uint32_t stages = ons_stage_costs_problem(costs)->pipeline.stages, *units;
    ons_granularity granularity;
    *partition = (ons_partition){.stages = stages};
    ONS_TRY(ons_granularity_make(costs, layers, arena, &granularity));
    ONS_NEW(units, arena, (size_t)stages + 1);
    ONS_NEW(partition->first, arena, (size_t)stages + 1);
    ONS_TRY(search(costs, &granularity, arena, units));
    for (uint32_t i = 0; i <= stages; ++i) partition->first[i] = granularity.cuts[units[i]];
    return ons_partition_evaluate(costs, partition);
}
