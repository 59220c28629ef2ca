#include "planner/search/graph_stages.h"

#include <math.h>

#include "planner/search/planner_search.h"
#include "planner/stage_graph/graphpipe.h"
#include "planner/stage_graph/stage_lists.h"
#include "planner/workload/order.h"

static const char NAME[] = "graphpipe";

static ons_status *check_devices(const ons_pipeline *p) {
    ONS_CHECK(p->devices == 0 || p->devices == p->stages, ONS_INVALID_ARGUMENT,
              "graphpipe puts one stage on each device, and asked for are %u stages on %u devices", p->stages,
              p->devices);
    return NULL;
}

/* A micro-batch is what the search counts: its unit is one of them, and it has no other sizes to choose from. */
static ons_status *search(const ons_planning_problem *problem, int64_t capacity, bool several, ons_arena *arena,
                          ons_graphpipe_result *result) {
    ons_workload unit = *problem->work;
    const ons_workload *works[] = {&unit};
    ons_planning_problem machine = *problem;
    const ons_graph_problem graph = {.work = works,
                                     .sizes = 1,
                                     .batch = problem->pipeline.micro_batches,
                                     .devices = problem->pipeline.stages,
                                     .most_replicas = 1,
                                     .machine = &machine};
    const ons_graphpipe_options options = {
        .line = !several, .paces = ONS_PACE_EQUAL, .objective = problem->objective, .samples = 1};
    unit.samples = 1;
    machine.capacity_bytes = capacity;
    return ons_graphpipe_search(&graph, &options, arena, result);
}

static bool is_straight(const ons_stage_graph *g) {
    for (uint32_t i = 0, at = 0; i + 1 < g->stage_count; ++i) {
        while (at < g->edge_count && g->edges[at].from < i) ++at;
        if (at == g->edge_count || g->edges[at].from != i || g->edges[at].to != i + 1) return false;
    }
    return true;
}

/* Lists and pipeline that run the stages. */
static ons_status *take_schedule(const ons_stage_graph *g, ons_arena *arena, ons_planning_problem *problem) {
    ons_schedule *schedule;
    ONS_NEW(schedule, arena, 1);
    ONS_TRY(ons_stage_lists_schedule(g, arena, schedule));
    ONS_TRY(ons_generator_of_lists(schedule, NAME, arena, &problem->pipeline.generator));
    problem->pipeline.devices = schedule->devices;
    problem->schedule = schedule;
    return NULL;
}

static ons_status *take_stages(const ons_stage_graph *g, bool several, ons_arena *arena, ons_planned *planned) {
    ons_workload *work;
    ONS_NEW(work, arena, 1);
    ONS_TRY(ons_work_reorder(planned->problem.work, g->order, arena, work));
    planned->order = several ? "graph" : "file";
    planned->node_at = several ? g->order : NULL;
    planned->problem.work = work;
    planned->by_step = planned->problem.objective == ONS_OBJECTIVE_BY_SCHEDULE;
    ONS_TRY(take_schedule(g, arena, &planned->problem));
    planned->partition.stages = g->stage_count;
    ONS_NEW(planned->partition.first, arena, (size_t)g->stage_count + 1);
    for (uint32_t i = 0; i < g->stage_count; ++i) planned->partition.first[i] = g->stages[i].first;
    planned->partition.first[g->stage_count] = g->node_count;
    return ons_planned_evaluate(planned, arena);
}

ons_status *ons_graph_stages_search(const ons_planning_problem *problem, bool several, ons_arena *arena,
                                    ons_graph_stages *found) {
    ons_graphpipe_result result;
    *found = (ons_graph_stages){.planned = {.problem = *problem}, .step_seconds = INFINITY};
    ONS_TRY(check_devices(&problem->pipeline));
    ONS_TRY(search(problem, problem->capacity_bytes, several, arena, &result));
    if (!result.feasible && problem->capacity_bytes > 0) ONS_TRY(search(problem, 0, several, arena, &result));
    ONS_CHECK(result.feasible, ONS_INVALID_ARGUMENT, "a model of %u nodes has no %u stages", problem->work->node_count,
              problem->pipeline.stages);
    found->step_seconds = result.step_seconds;
    found->straight = is_straight(&result.graph);
    return take_stages(&result.graph, several, arena, &found->planned);
}
