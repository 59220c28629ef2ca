#include "planner/search/degrees.h"

#include <math.h>

#include "planner/simulate/pipeline_simulation.h"

static ons_status *simulate(const ons_planned *planned, ons_arena *arena, double *seconds) {
    ons_pipeline_setup setup = {.problem = &planned->problem,
                                .first = planned->partition.first,
                                .solutions = planned->solutions,
                                .times_alone = true};
    ons_pipeline_forecast f;
    ONS_TRY(ons_pipeline_simulate(&setup, arena, &f));
    *seconds = f.iteration_seconds;
    ons_simulation_free(f.simulation);
    return NULL;
}

static ons_status *plan(const ons_planning_problem *problem, const ons_partition_strategy *strategy, ons_arena *arena,
                        ons_degrees *found) {
    ons_schedule *schedule;
    ons_planning_problem p = *problem;
    found->step_seconds = INFINITY;
    p.pipeline.stages = p.pipeline.devices = found->stages;
    p.pipeline.replicas = found->replicas;
    p.pipeline.micro_batches /= found->replicas;
    ONS_NEW(schedule, arena, 1);
    ONS_TRY(ons_schedule_make(&p.pipeline, arena, schedule));
    p.schedule = schedule;
    ONS_TRY(ons_planner_search_order(&p, strategy, arena, &found->planned));
    found->feasible = found->planned.partition.feasible;
    return found->feasible ? simulate(&found->planned, arena, &found->step_seconds) : NULL;
}

ons_status *ons_degrees_search(const ons_planning_problem *problem, const ons_partition_strategy *strategy,
                               uint32_t devices, ons_arena *arena, ons_degrees *degrees) {
    *degrees = (ons_degrees){.step_seconds = INFINITY};
    for (uint32_t stages = 1; stages <= devices && stages <= problem->work->node_count; ++stages) {
        ons_degrees found = {.stages = stages, .replicas = devices / stages};
        if (devices % stages != 0 || problem->pipeline.micro_batches % found.replicas != 0) continue;
        ONS_TRY(plan(problem, strategy, arena, &found));
        if (found.step_seconds < degrees->step_seconds) *degrees = found;
    }
    return NULL;
}
