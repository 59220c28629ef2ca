#include "planner/planner.h"

#include <stdio.h>
#include <time.h>

#include "planner/order.h"
#include "planner/plan_replay.h"

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

const char *ons_bytes_print(double bytes, char text[static ONS_BYTES_TEXT]) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    int unit = 0;
    for (; bytes >= 1024 && unit < 4; ++unit) bytes /= 1024;
    snprintf(text, ONS_BYTES_TEXT, unit == 0 || bytes >= 100 ? "%.0f %s" : "%.1f %s", bytes, units[unit]);
    return text;
}

/* ----------------------------------------------------------------------------------------------------------- search */

static ons_stage_problem stage_problem(const ons_planning_problem *p, const ons_partition *partition, uint32_t stage) {
    return (ons_stage_problem){
        .work = p->work,
        .first = partition->first[stage],
        .end = partition->first[stage + 1],
        .load = ons_pipeline_load(&p->pipeline, stage),
        .capacity_bytes = p->capacity_bytes,
        .host_bandwidth = p->host_bandwidth,
        .host_latency = p->host_latency,
    };
}

/* The decisions that the search only counted the cost of. */
static ons_status *solve_stages(const ons_planning_problem *p, ons_arena *arena, ons_planned *planned) {
    ons_memory_workspace *workspace;
    ONS_NEW(planned->solutions, arena, planned->partition.stages);
    ONS_TRY(ons_memory_workspace_new(p->work, &workspace));
    ons_status *status = NULL;
    for (uint32_t i = 0; status == NULL && i < planned->partition.stages; ++i) {
        ons_stage_problem stage = stage_problem(p, &planned->partition, i);
        status = p->memory->solve(&stage, workspace, arena, &planned->solutions[i]);
        if (status == NULL && !planned->solutions[i].feasible)
            status = ons_status_new(ONS_DEFECT, "stage %u does not fit after all", i);
    }
    ons_memory_workspace_free(workspace);
    return status;
}

static ons_status *search_one(const ons_planning_problem *problem, const ons_partition_strategy *strategy,
                              ons_arena *arena, ons_planned *planned) {
    planned->problem = *problem;
    planned->partition = (ons_partition){.stages = problem->pipeline.stages};
    ONS_NEW(planned->partition.first, arena, (size_t)problem->pipeline.stages + 1);
    ons_judge *judge;
    ONS_TRY(ons_judge_new(problem, &judge));
    ons_status *status = strategy->search(judge, arena, &planned->partition);
    ons_judge_free(judge);
    return status;
}

ons_status *ons_planner_search_order(const ons_planning_problem *problem, const ons_partition_strategy *strategy,
                                     ons_arena *arena, ons_planned *planned) {
    *planned = (ons_planned){.order = "file"};
    ONS_TRY(search_one(problem, strategy, arena, planned));
    return planned->partition.feasible ? solve_stages(&planned->problem, arena, planned) : NULL;
}

/* What all stages send for a micro-batch. */
static int64_t sent_bytes(const ons_planned *planned) {
    int64_t sum = 0;
    for (uint32_t i = 1; i < planned->partition.stages; ++i)
        sum += ons_work_cut_bytes(planned->problem.work, planned->partition.first[i]);
    return sum;
}

/* Where links cost something, times within a thousandth of each other count as equal: then what sends less is better.
 */
static bool is_better(const ons_planned *a, const ons_planned *b) {
    if (a->partition.feasible != b->partition.feasible) return a->partition.feasible;
    if (!a->partition.feasible) return a->partition.least_bytes < b->partition.least_bytes;
    double left = a->partition.bottleneck_seconds, right = b->partition.bottleneck_seconds;
    if (a->problem.link_bandwidth <= 0 && left != right) return left < right;
    if (left < 0.999 * right || right < 0.999 * left) return left < right;
    return sent_bytes(a) < sent_bytes(b);
}

static ons_status *search_reordered(const ons_planning_problem *problem, ons_order_kind kind,
                                    const ons_partition_strategy *strategy, ons_arena *arena, ons_planned *planned) {
    uint32_t *order;
    ons_workload *work;
    ons_planning_problem reordered = *problem;
    ONS_NEW(work, arena, 1);
    ONS_TRY(ons_work_order(problem->work, kind, problem->pipeline.stages, arena, &order));
    ONS_TRY(ons_work_reorder(problem->work, order, arena, work));
    reordered.work = work;
    *planned = (ons_planned){.order = ons_order_name(kind), .node_at = order};
    return search_one(&reordered, strategy, arena, planned);
}

/* The packed order is searched for up to here: inception_v3, with 326 nodes in wide blocks, takes 0.1 s. Larger graphs
 * are mostly chains of small nodes, which other orders fill stages with as well. */
enum { PACKED_MOST_NODES = 600 };

ons_status *ons_planner_search(const ons_planning_problem *problem, const ons_partition_strategy *strategy,
                               ons_arena *arena, ons_planned *planned) {
    double start = now();
    *planned = (ons_planned){.order = "file"};
    ONS_TRY(search_one(problem, strategy, arena, planned));
    bool several = ons_partition_takes_any_order(strategy) && problem->pipeline.stages > 1;
    int kinds = problem->work->node_count <= PACKED_MOST_NODES ? ONS_ORDER_COUNT : ONS_ORDER_PACKED;
    for (int kind = 0; several && kind < kinds; ++kind) {
        ons_planned other;
        ONS_TRY(search_reordered(problem, (ons_order_kind)kind, strategy, arena, &other));
        if (is_better(&other, planned)) *planned = other;
    }
    if (planned->partition.feasible) ONS_TRY(solve_stages(&planned->problem, arena, planned));
    planned->planning_seconds = now() - start;
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------------- fill */

static ons_status *fill_decisions(const ons_planning_problem *p, const ons_stage_solution *solution, ons_arena *arena,
                                  ons_plan_stage *stage) {
    const ons_workload *work = p->work;
    ONS_NEW(stage->decisions, arena, solution->decision_count);
    for (uint32_t i = 0; i < solution->decision_count; ++i) {
        const ons_tensor_decision *d = &solution->decisions[i];
        if (d->decision == ONS_KEEP) continue;
        stage->decisions[stage->decision_count++] = (ons_plan_decision){
            .tensor = work->tensors[d->tensor].name,
            .decision = d->decision,
            .out_after = d->decision == ONS_SWAP ? work->nodes[d->out_after].name : NULL,
            .in_before = work->nodes[d->in_before].name,
        };
    }
    return NULL;
}

static ons_status *fill_stage(const ons_planning_problem *p, const ons_planned *planned, uint32_t index,
                              ons_arena *arena, ons_plan_stage *stage) {
    const ons_stage_solution *solution = &planned->solutions[index];
    uint32_t first = planned->partition.first[index], end = planned->partition.first[index + 1];
    *stage = (ons_plan_stage){
        .first_node = p->work->nodes[first].name,
        .node_count = end - first,
        .device = index,
        .load = ons_pipeline_load(&p->pipeline, index),
        .seconds = solution->seconds,
        .forward_seconds = ons_work_forward_seconds(p->work, first, end),
        .backward_seconds = ons_work_backward_seconds(p->work, first, end),
        .recompute_seconds = solution->recompute_seconds,
        .stall_seconds = solution->stall_seconds,
        .update_seconds = ons_work_update_seconds(p->work, first, end),
        .send_bytes = end < p->work->node_count ? ons_work_cut_bytes(p->work, end) : 0,
        .receive_bytes = ons_work_cut_bytes(p->work, first),
        .memory = solution->memory,
        .memory_bytes = solution->memory.total,
    };
    if (p->link_bandwidth > 0 && stage->send_bytes > 0)
        stage->send_seconds = p->link_latency + (double)stage->send_bytes / p->link_bandwidth;
    return fill_decisions(p, solution, arena, stage);
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
    ONS_TRY(ons_pipeline_parts_make(&setup, arena, &plan->parts));
    ONS_TRY(ons_plan_replay(plan, arena, &forecast));
    plan->step_seconds = forecast.iteration_seconds;
    ons_simulation_free(forecast.simulation);
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
    plan->pipeline = p->pipeline;
    plan->capacity_bytes = p->capacity_bytes;
    plan->bottleneck_seconds = planned->partition.bottleneck_seconds;
    plan->planning_seconds = planned->planning_seconds;
    ONS_NEW(plan->stages, arena, p->pipeline.stages);
    for (uint32_t i = 0; i < p->pipeline.stages; ++i) ONS_TRY(fill_stage(p, planned, i, arena, &plan->stages[i]));
    ONS_TRY(ons_pipeline_actions(&p->pipeline, arena, &plan->actions));
    return simulate(planned, arena, plan);
}
