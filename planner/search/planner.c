#include "planner/search/planner.h"

#include "planner/partition/devices.h"
#include "planner/partition/link.h"
#include "planner/partition/reduce.h"
#include "planner/plan/plan_check.h"
#include "planner/plan/plan_replay.h"
#include "planner/search/slices.h"

ons_status *ons_planned_sum_devices(const ons_planned *planned, ons_arena *arena, int64_t **bytes) {
    const ons_schedule *s = planned->problem.schedule;
    ONS_NEW(*bytes, arena, s->devices);
    for (uint32_t i = 0; i < s->stages; ++i)
        for (uint32_t copy = 0; copy < ons_schedule_grouping(s, i).copies; ++copy)
            (*bytes)[ons_schedule_device(s, i, copy)] += planned->solutions[i].memory.total;
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------------- fill */

/* A device has one copy of a tensor that several of its stages read. Of those that decide about it the latest does: it
 * is the last to read it on the way forth, and the first on the way back. */
static bool later_stage_decides(const ons_planned *planned, uint32_t index, uint32_t tensor) {
    const ons_schedule *s = planned->problem.schedule;
    for (uint32_t later = index + 1; later < s->stages; ++later) {
        const ons_stage_solution *solution = &planned->solutions[later];
        if (s->device_of[later] != s->device_of[index]) continue;
        for (uint32_t i = 0; i < solution->decision_count; ++i)
            if (solution->decisions[i].tensor == tensor && solution->decisions[i].decision != ONS_KEEP) return true;
    }
    return false;
}

static ons_status *fill_decisions(const ons_planned *planned, uint32_t index, ons_arena *arena, ons_plan_stage *stage) {
    const ons_workload *work = planned->problem.work;
    const ons_stage_solution *solution = &planned->solutions[index];
    ONS_NEW(stage->decisions, arena, solution->decision_count);
    for (uint32_t i = 0; i < solution->decision_count; ++i) {
        const ons_tensor_decision *d = &solution->decisions[i];
        if (d->decision == ONS_KEEP || later_stage_decides(planned, index, d->tensor)) continue;
        stage->decisions[stage->decision_count++] = (ons_plan_decision){
            .tensor = work->tensors[d->tensor].name,
            .decision = d->decision,
            .out_after = d->decision == ONS_SWAP ? work->nodes[d->out_after].name : NULL,
            .in_before = work->nodes[d->in_before].name,
            .gone_before = d->gone_before == ONS_NO_NODE ? NULL : work->nodes[d->gone_before].name,
        };
    }
    return NULL;
}

/* A plan names nodes and tensors, and not positions: it must be readable by a run that numbers them otherwise. Nodes
 * are named one by one only where they do not stand in the file's order. */
static ons_status *fill_stage(const ons_planning_problem *p, const ons_planned *planned, uint32_t index,
                              ons_arena *arena, ons_plan_stage *stage) {
    const ons_stage_solution *solution = &planned->solutions[index];
    uint32_t first = planned->partition.first[index], end = planned->partition.first[index + 1];
    const ons_workload *work = ons_stage_work(p, index);
    *stage = (ons_plan_stage){
        .first_node = p->work->nodes[first].name,
        .node_count = end - first,
        .device = p->schedule->device_of[index],
        .grouping = ons_schedule_grouping(p->schedule, index),
        .load = p->schedule->loads[index],
        .seconds = solution->seconds,
        .forward_seconds = ons_work_forward_seconds(work, first, end),
        .backward_seconds = ons_work_backward_seconds(work, first, end),
        .recompute_seconds = solution->recompute_seconds,
        .stall_seconds = solution->stall_seconds,
        .reduce_seconds = ons_reduce_stage_seconds(p, p->schedule, index, first, end),
        .update_seconds = ons_work_update_seconds(work, first, end),
        .send_bytes = end < p->work->node_count ? ons_work_cut_bytes(work, end) : 0,
        .receive_bytes = ons_work_cut_bytes(work, first),
        .memory = solution->memory,
        .memory_bytes = solution->memory.total,
    };
    if (planned->node_at != NULL) {
        ONS_NEW(stage->names, arena, (size_t)stage->node_count + 1);
        for (uint32_t i = 0; i < stage->node_count; ++i) stage->names[i] = p->work->nodes[first + i].name;
    }
    if (stage->send_bytes > 0) stage->send_seconds = ons_link_seconds(ons_link_before(p, index + 1), stage->send_bytes);
    ONS_TRY(fill_decisions(planned, index, arena, stage));
    return ons_plan_note_made_for(stage, arena);
}

/* Exactly what `onstage simulate` will find in the file. */
static ons_status *simulate(const ons_planned *planned, ons_arena *arena, ons_plan *plan) {
    ons_pipeline_forecast forecast;
    ons_pipeline_setup setup = {
        .problem = &planned->problem,
        .first = planned->partition.first,
        .solutions = planned->solutions,
    };
    plan->link_bandwidth = planned->problem.link_bandwidth;
    plan->link_latency = planned->problem.link_latency;
    plan->link_eager_bytes = planned->problem.link_eager_bytes;
    plan->node_devices = planned->problem.node_devices;
    plan->network_bandwidth = planned->problem.network_bandwidth;
    plan->network_latency = planned->problem.network_latency;
    plan->network_eager_bytes = planned->problem.network_eager_bytes;
    ONS_TRY(ons_pipeline_parts_make(&setup, arena, &plan->parts));
    ONS_TRY(ons_plan_replay(plan, arena, &forecast));
    plan->step_seconds = forecast.iteration_seconds;
    ons_simulation_free(forecast.simulation);
    return NULL;
}

/* A strategy that goes by the line of its stages does not see that lists that are asked for wait for other ones. */
static ons_status *explain_hang(const ons_planning_problem *p, ons_status *status) {
    if (status == NULL || !p->follows_lists || ons_status_get_code(status) != ONS_INVALID_DATA) return status;
    ons_status *explained = ons_status_new(
        ONS_INVALID_DATA, "%s: with the stages of this --partition %s; --partition graphpipe looks for others",
        p->pipeline.generator->name, ons_status_get_message(status));
    ons_status_free(status);
    return explained;
}

static ons_status *fill_capacities(const ons_planning_problem *p, ons_arena *arena, ons_plan *plan) {
    plan->capacities = NULL;
    if (p->devices == NULL || p->capacity_bytes == 0) return NULL;
    ONS_NEW(plan->capacities, arena, p->schedule->devices);
    for (uint32_t i = 0; i < p->schedule->devices; ++i) plan->capacities[i] = ons_device_capacity(p, i);
    return NULL;
}

ons_status *ons_planner_fill(const ons_planned *planned, ons_arena *arena, ons_plan *plan) {
    const ons_planning_problem *p = &planned->problem;
    char need[ONS_BYTES_TEXT], have[ONS_BYTES_TEXT];
    ONS_CHECK(planned->partition.feasible, ONS_OUT_OF_MEMORY,
              "no plan fits %s a device; the smallest memory that would do is %s (%lld bytes)",
              ons_bytes_print((double)p->capacity_bytes, have),
              ons_bytes_print((double)planned->partition.least_bytes, need), (long long)planned->partition.least_bytes);
    plan->memory = p->memory->name;
    plan->order = planned->order;
    plan->objective = planned->by_step ? ons_plan_by_step : ons_plan_by_bottleneck;
    plan->pipeline = p->pipeline;
    plan->capacity_bytes = p->capacity_bytes;
    plan->bottleneck_seconds = planned->partition.bottleneck_seconds;
    plan->planning_seconds = planned->planning_seconds;
    ONS_NEW(plan->stages, arena, p->pipeline.stages);
    for (uint32_t i = 0; i < p->pipeline.stages; ++i) ONS_TRY(fill_stage(p, planned, i, arena, &plan->stages[i]));
    plan->schedule = *p->schedule;
    ONS_TRY(fill_capacities(p, arena, plan));
    ONS_TRY(ons_plan_slice(plan, p->sliced, arena));
    return explain_hang(p, simulate(planned, arena, plan));
}
