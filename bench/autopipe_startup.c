#include "bench/autopipe_plans.h"
#include "planner/partition/link.h"
#include "planner/schedule/slicer.h"
#include "planner/search/planner.h"
#include "planner/simulate/pipeline_simulation.h"

typedef struct simulated {
    double startup, step;
    int64_t bytes;
} simulated;

/* Until the last stage begins its first forward part. */
static double find_start(const ons_simulation *s, uint32_t stages) {
    for (ons_task_id i = 0; i < ons_simulation_task_count(s); ++i) {
        const ons_task_spec *task = ons_simulation_task(s, i);
        if (task->action.kind == ONS_ACTION_FORWARD && task->action.stage + 1 == stages)
            return ons_simulation_times(s, i).start;
    }
    return 0;
}

static ons_status *simulate(const ons_planning_problem *p, const uint32_t *first, const ons_schedule *schedule,
                            ons_arena *arena, simulated *result) {
    ons_pipeline_setup setup = {.problem = p, .first = first, .schedule = schedule};
    ons_pipeline_forecast f;
    ONS_TRY(ons_pipeline_simulate(&setup, arena, &f));
    *result = (simulated){.startup = find_start(f.simulation, schedule->stages), .step = f.iteration_seconds};
    for (uint32_t i = 0; i < f.device_count; ++i)
        if (f.devices[i].peak_bytes > result->bytes) result->bytes = f.devices[i].peak_bytes;
    ons_simulation_free(f.simulation);
    return NULL;
}

/* As Megatron-LM has it: the embedding with the first layers, the head with the last. */
static ons_status *simulate_even(const ons_planning_problem *p, const autopipe_model *model, ons_arena *arena,
                                 simulated *result) {
    uint32_t stages = p->pipeline.stages, *first;
    *result = (simulated){0};
    if (model->layers % stages != 0) return NULL;
    ONS_NEW(first, arena, (size_t)stages + 1);
    for (uint32_t i = 1; i < stages; ++i) first[i] = 1 + 2 * (model->layers / stages * i);
    first[stages] = p->work->node_count;
    return simulate(p, first, p->schedule, arena, result);
}

static ons_status *count_slices(const ons_planned *planned, ons_arena *arena, uint32_t *slices) {
    const ons_planning_problem *p = &planned->problem;
    const uint32_t *first = planned->partition.first;
    double *forward, *backward;
    ONS_NEW(forward, arena, p->pipeline.stages);
    ONS_NEW(backward, arena, p->pipeline.stages);
    for (uint32_t i = 0; i < p->pipeline.stages; ++i) {
        forward[i] = ons_work_forward_seconds(p->work, first[i], first[i + 1]);
        backward[i] = ons_work_backward_seconds(p->work, first[i], first[i + 1]);
    }
    ons_slicer_stages stages = {.forward = forward,
                                .backward = backward,
                                .transfer =
                                    ons_link_seconds(ons_link_in_node(p), ons_work_cut_bytes(p->work, first[1])),
                                .stages = p->pipeline.stages,
                                .micro_batches = p->pipeline.micro_batches};
    *slices = ons_slicer_count(&stages);
    return NULL;
}

ons_status *autopipe_start(const autopipe_model *model, uint32_t stages, uint32_t micro_batches, ons_arena *arena,
                           autopipe_startup *s) {
    ons_workload work;
    ons_schedule schedule, sliced;
    ons_planned planned;
    simulated whole, halved, forced, even;
    ONS_TRY(autopipe_model_make(model, arena, &work));
    ons_planning_problem p = autopipe_problem(&work, stages, micro_batches);
    ONS_TRY(ons_schedule_make(&p.pipeline, arena, &schedule));
    p.schedule = &schedule;
    ONS_TRY(ons_planner_search_order(&p, ons_partition_strategy_find("autopipe"), arena, &planned));
    *s = (autopipe_startup){.stages = stages, .micro_batches = micro_batches};
    ONS_TRY(count_slices(&planned, arena, &s->slices));
    const uint32_t *first = planned.partition.first;
    ONS_TRY(simulate_even(&p, model, arena, &even));
    ONS_TRY(simulate(&p, first, &schedule, arena, &whole));
    ONS_TRY(ons_schedule_slice(&schedule, s->slices, arena, &sliced));
    ONS_TRY(simulate(&p, first, &sliced, arena, &halved));
    ONS_TRY(ons_schedule_slice(&schedule, 1, arena, &sliced));
    ONS_TRY(simulate(&p, first, &sliced, arena, &forced));
    s->whole = whole.startup;
    s->sliced = halved.startup;
    s->whole_step = whole.step;
    s->sliced_step = halved.step;
    s->forced_step = forced.step;
    s->even_step = even.step;
    s->whole_bytes = whole.bytes;
    s->sliced_bytes = halved.bytes;
    return NULL;
}
