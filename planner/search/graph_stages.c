#include "planner/search/graph_stages.h"

#include <math.h>

#include "planner/search/list_stages.h"
#include "planner/search/planner_search.h"
#include "planner/simulate/pipeline_simulation.h"
#include "planner/stage_graph/graphpipe.h"
#include "planner/stage_graph/stage_lists.h"
#include "planner/workload/order.h"

static const char NAME[] = "graphpipe";
static const double EQUAL = 1e-9; /* steps that differ by less, relatively, are as fast */

static ons_status *check_devices(const ons_planning_problem *problem) {
    const ons_pipeline *p = &problem->pipeline;
    ONS_CHECK(p->devices == 0 || p->devices == p->stages, ONS_INVALID_ARGUMENT,
              "graphpipe puts one stage on each device, and asked for are %u stages on %u devices", p->stages,
              p->devices);
    ONS_CHECK(problem->devices == NULL, ONS_INVALID_ARGUMENT,
              "graphpipe takes devices that are alike, and these differ; take --partition auto");
    ONS_CHECK(problem->choice == NULL || !problem->follows_lists, ONS_INVALID_ARGUMENT,
              "stages choose their micro-batches and replicas, or follow lists (%s), which say nothing of either: not "
              "both",
              p->generator->name);
    ONS_CHECK(problem->choice == NULL || !problem->choice->replicas || p->replicas <= 1, ONS_INVALID_ARGUMENT,
              "stages have replicas of their own, or the whole pipeline has %u of them: not both; leave out --replicas "
              "or --stage-replicas",
              p->replicas);
    return NULL;
}

/* ------------------------------------------------------------------------------------------------- stages to a plan */

/* Tests whether the stages are a line: each sends to the next one. Edges are sorted by the stages that they lead from
 * and to, so the first edge of a stage says it. */
static bool is_straight(const ons_stage_graph *g) {
    for (uint32_t i = 0, at = 0; i + 1 < g->stage_count; ++i) {
        while (at < g->edge_count && g->edges[at].from < i) ++at;
        if (at == g->edge_count || g->edges[at].from != i || g->edges[at].to != i + 1) return false;
    }
    return true;
}

/* Lists that are asked for. */
static ons_status *take_lists(ons_arena *arena, ons_planning_problem *problem) {
    ons_schedule *schedule;
    ONS_NEW(schedule, arena, 1);
    problem->schedule = schedule;
    return ons_schedule_make(&problem->pipeline, arena, schedule);
}

/* Lists and pipeline that run the stages. */
static ons_status *make_lists(const ons_stage_graph *g, ons_arena *arena, ons_planning_problem *problem) {
    ons_schedule *schedule;
    ONS_NEW(schedule, arena, 1);
    ONS_TRY(ons_stage_lists_schedule(g, 1, arena, schedule));
    ONS_TRY(ons_generator_of_lists(schedule, NAME, arena, &problem->pipeline.generator));
    problem->pipeline.stages = schedule->stages;
    problem->pipeline.devices = schedule->devices;
    problem->schedule = schedule;
    return NULL;
}

/* Lists that were asked for may wait for ever; how long a step would take is then no question. */
static ons_status *note_hang(ons_status *status, ons_arena *arena, ons_graph_stages *found) {
    if (status == NULL || !found->planned.problem.follows_lists || ons_status_get_code(status) != ONS_INVALID_DATA)
        return status;
    found->hangs = ons_arena_copy_text(arena, ons_status_get_message(status));
    found->planned.partition.feasible = false;
    ons_status_free(status);
    return found->hangs == NULL ? ons_status_out_of_memory() : NULL;
}

/* Infinite where nothing fits. */
static ons_status *simulate(ons_graph_stages *found, ons_arena *arena) {
    const ons_planned *planned = &found->planned;
    const ons_pipeline_setup setup = {.problem = &planned->problem,
                                      .first = planned->partition.first,
                                      .solutions = planned->solutions,
                                      .schedule = planned->problem.schedule,
                                      .times_alone = true};
    ons_pipeline_forecast forecast;
    found->step_seconds = INFINITY;
    if (!planned->partition.feasible) return NULL;
    ons_status *status = ons_pipeline_simulate(&setup, arena, &forecast);
    if (status != NULL) return note_hang(status, arena, found);
    found->step_seconds = forecast.iteration_seconds;
    ons_simulation_free(forecast.simulation);
    return NULL;
}

/* Stages numbered as the lists that are asked for have them. */
static ons_status *number_stages(const ons_planning_problem *problem, ons_arena *arena, ons_stage_graph *g) {
    const ons_stage_graph found = *g;
    ons_planning_problem with = *problem;
    ONS_TRY(take_lists(arena, &with));
    return ons_list_stages_number(&found, problem->work, with.schedule, arena, g);
}

/* `planned` has order, workload and cuts. */
static ons_status *take_stages(const ons_stage_graph *g, ons_arena *arena, ons_graph_stages *found) {
    ons_planned *planned = &found->planned;
    found->straight = is_straight(g);
    planned->by_step = planned->problem.objective == ONS_OBJECTIVE_BY_SCHEDULE;
    planned->best_bottleneck = (ons_best_bottleneck){0};
    ONS_TRY(planned->problem.follows_lists ? take_lists(arena, &planned->problem)
                                           : make_lists(g, arena, &planned->problem));
    ONS_TRY(ons_planned_evaluate(planned, arena));
    return simulate(found, arena);
}

/* ----------------------------------------------------------------------------------------------- GraphPipe's search */

/* What stages may choose; without a choice a micro-batch alone, and one replica. */
static ons_stage_choice choice_of(const ons_planning_problem *problem) {
    if (problem->choice != NULL) return *problem->choice;
    return (ons_stage_choice){.works = &problem->work, .work_count = 1};
}

/* A micro-batch is what the search counts: a unit is one of them. */
static ons_status *list_works(const ons_stage_choice *choice, ons_arena *arena, const ons_workload *const **list) {
    ons_workload *works;
    const ons_workload **made;
    ONS_NEW(works, arena, choice->work_count);
    ONS_NEW(made, arena, choice->work_count);
    for (uint32_t i = 0; i < choice->work_count; ++i) {
        works[i] = *choice->works[i];
        works[i].samples = (int64_t)1 << i;
        made[i] = &works[i];
    }
    *list = made;
    return NULL;
}

/* Asks GraphPipe's search, which counts samples; here a micro-batch is one of them (list_works). So its batch is the
 * number of micro-batches, and without a choice of sizes each stage takes one at a time. */
static ons_status *search_divisions(const ons_planning_problem *problem, int64_t capacity, bool any_order,
                                    ons_arena *arena, ons_graphpipe_result *result) {
    const ons_stage_choice choice = choice_of(problem);
    ons_planning_problem hardware = *problem;
    ons_graph_problem graph = {.sizes = choice.work_count,
                               .batch = problem->pipeline.micro_batches,
                               .devices = problem->pipeline.stages,
                               .most_replicas = choice.replicas ? 0 : 1,
                               .joint = choice.joint,
                               .hardware = &hardware};
    bool chooses = choice.sizes || choice.replicas || choice.joint != NULL;
    const ons_graphpipe_options options = {.line = !any_order,
                                           .paces = choice.sizes ? ONS_PACE_FREE : ONS_PACE_EQUAL,
                                           .objective = problem->objective,
                                           .samples = chooses ? 0 : 1};
    ONS_TRY(list_works(&choice, arena, &graph.work));
    hardware.capacity_bytes = capacity;
    return ons_graphpipe_search(&graph, &options, arena, result);
}

/* Workloads of the stages' own micro-batches, in the order of the cuts; each size is reordered once. */
static ons_status *take_works(const ons_stage_graph *g, ons_arena *arena, ons_planning_problem *problem) {
    const ons_stage_choice *choice = problem->choice;
    const ons_workload **of_stage;
    ons_workload **ordered;
    ONS_NEW(of_stage, arena, g->stage_count);
    ONS_NEW(ordered, arena, choice->work_count);
    for (uint32_t i = 0; i < g->stage_count; ++i) {
        const ons_graph_stage *s = &g->stages[i];
        uint32_t size = 63u - (uint32_t)__builtin_clzll((uint64_t)(s->pace.samples / s->replicas));
        if (ordered[size] == NULL) {
            ONS_NEW(ordered[size], arena, 1);
            ONS_TRY(ons_work_reorder(choice->works[size], g->order, arena, ordered[size]));
        }
        of_stage[i] = ordered[size];
    }
    problem->stage_works = of_stage;
    return NULL;
}

static ons_status *take_cuts(const ons_stage_graph *g, bool any_order, ons_arena *arena, ons_planned *planned) {
    ons_workload *work;
    ONS_NEW(work, arena, 1);
    ONS_TRY(ons_work_reorder(planned->problem.work, g->order, arena, work));
    planned->order = any_order ? "graph" : "file";
    planned->node_at = any_order ? g->order : NULL;
    planned->problem.work = work;
    planned->partition.stages = g->stage_count;
    ONS_NEW(planned->partition.first, arena, (size_t)g->stage_count + 1);
    for (uint32_t i = 0; i < g->stage_count; ++i) planned->partition.first[i] = g->stages[i].first;
    planned->partition.first[g->stage_count] = g->node_count;
    return planned->problem.choice == NULL ? NULL : take_works(g, arena, &planned->problem);
}

/* GraphPipe's search counts stages as they are. Where none fit the capacity it is asked for stages without one: a
 * memory strategy may make these fit, and where it does not the refusal says how much memory would do. */
static ons_status *search_graph(const ons_planning_problem *problem, bool any_order, ons_arena *arena,
                                ons_graph_stages *found) {
    ons_graphpipe_result result;
    ONS_TRY(search_divisions(problem, problem->capacity_bytes, any_order, arena, &result));
    if (!result.feasible && problem->capacity_bytes > 0)
        ONS_TRY(search_divisions(problem, 0, any_order, arena, &result));
    ONS_CHECK(result.feasible, ONS_INVALID_ARGUMENT, "a model of %u nodes has no %u stages", problem->work->node_count,
              problem->pipeline.stages);
    if (problem->follows_lists && any_order) ONS_TRY(number_stages(problem, arena, &result.graph));
    ONS_TRY(take_cuts(&result.graph, any_order, arena, &found->planned));
    return take_stages(&result.graph, arena, found);
}

/* --------------------------------------------------------------------------------------------------- cuts of a line */

/* The stages that cuts of an order make, and what they wait for. `work` has the nodes as the problem has them. */
static ons_status *make_graph(const ons_planned *planned, const ons_workload *work, ons_arena *arena,
                              ons_stage_graph *g) {
    uint32_t *order, count = planned->partition.stages;
    ONS_NEW(order, arena, work->node_count);
    for (uint32_t i = 0; i < work->node_count; ++i) order[i] = planned->node_at == NULL ? i : planned->node_at[i];
    *g = (ons_stage_graph){.batch = planned->problem.pipeline.micro_batches,
                           .devices = count,
                           .order = order,
                           .node_count = work->node_count,
                           .stage_count = count};
    ONS_NEW(g->stages, arena, count);
    for (uint32_t i = 0; i < count; ++i)
        g->stages[i] = (ons_graph_stage){.first = planned->partition.first[i],
                                         .end = planned->partition.first[i + 1],
                                         .first_device = i,
                                         .replicas = 1,
                                         .pace = {1, 1}};
    ONS_TRY(ons_stage_graph_connect(g, work, false, arena));
    ons_stage_graph_set_in_flight(g);
    return NULL;
}

/* The cuts that "auto" finds for 1F1B, with lists by the graph of their stages. */
static ons_status *search_cuts(const ons_planning_problem *problem, ons_arena *arena, ons_graph_stages *found) {
    ons_planning_problem line = *problem;
    ons_schedule *schedule;
    ons_stage_graph g;
    line.pipeline.generator = &ons_generator_one_f_one_b;
    ONS_NEW(schedule, arena, 1);
    ONS_TRY(ons_schedule_make(&line.pipeline, arena, schedule));
    line.schedule = schedule;
    ONS_TRY(ons_planner_search_stages(&line, ons_partition_strategy_find("auto"), true, arena, &found->planned));
    if (!found->planned.partition.feasible) return NULL;
    ONS_TRY(make_graph(&found->planned, problem->work, arena, &g));
    if (!problem->follows_lists) return take_stages(&g, arena, found);
    ONS_TRY(number_stages(problem, arena, &g));
    found->planned.problem = *problem;
    ONS_TRY(take_cuts(&g, true, arena, &found->planned));
    return take_stages(&g, arena, found);
}

static int64_t sum_of_bytes(const ons_planned *planned) {
    int64_t bytes = 0;
    for (uint32_t i = 0; i < planned->partition.stages; ++i) bytes += planned->solutions[i].memory.total;
    return bytes;
}

/* What fits is better than what does not; then a faster step; of equal ones what takes less memory. */
static bool is_better(const ons_graph_stages *a, const ons_graph_stages *b) {
    const ons_partition *p = &a->planned.partition, *q = &b->planned.partition;
    if (p->feasible != q->feasible) return p->feasible;
    if (!p->feasible && (a->hangs != NULL || b->hangs != NULL)) return a->hangs == NULL;
    if (!p->feasible) return p->least_bytes < q->least_bytes;
    if (fabs(a->step_seconds - b->step_seconds) > EQUAL * b->step_seconds) return a->step_seconds < b->step_seconds;
    return sum_of_bytes(&a->planned) < sum_of_bytes(&b->planned);
}

ons_status *ons_graph_stages_search(const ons_planning_problem *problem, bool any_order, ons_arena *arena,
                                    ons_graph_stages *found) {
    *found = (ons_graph_stages){.planned = {.problem = *problem}, .step_seconds = INFINITY};
    ons_graph_stages cuts = *found;
    ONS_TRY(check_devices(problem));
    ONS_TRY(search_graph(problem, any_order, arena, found));
    uint32_t devices = problem->pipeline.stages;
    bool has_joint = problem->choice != NULL && problem->choice->joint != NULL;
    if (any_order && !has_joint && devices > 1 && devices <= problem->work->node_count) {
        ONS_TRY(search_cuts(problem, arena, &cuts));
        if (is_better(&cuts, found)) *found = cuts;
    }
    ONS_CHECK(found->hangs == NULL, ONS_INVALID_DATA, "%s: %s", problem->pipeline.generator->name, found->hangs);
    return NULL;
}
