#include "bench/stage_graph_lines.h"

#include <math.h>

#include "planner/stage_graph/graph_simulation.h"
#include "planner/stage_graph/graphpipe.h"
#include "planner/stage_graph/stage_lists.h"
#include "planner/workload/order.h"
#include "tests/rooms/planner/stage_divisions.h"

static void note(const ons_stage_graph *g, double step, const char *order, best_run *run) {
    *run = (best_run){.step = step, .unordered = step, .samples = g->stages[0].pace.samples, .order = order};
    run->stages = g->stage_count;
    run->in_flight = g->stages[0].in_flight;
    for (uint32_t i = 0; i < g->stage_count; ++i) {
        if (g->stages[i].replicas > run->replicas) run->replicas = g->stages[i].replicas;
        if (g->stages[i].pace.samples > run->samples) run->samples = g->stages[i].pace.samples;
    }
}

static ons_status *simulate(const ons_stage_graph *g, ons_interval_costs *costs, ons_arena *arena, double *step) {
    ons_action_list *lists;
    ons_simulation *simulation;
    ONS_TRY(ons_stage_lists_make(g, arena, &lists));
    ONS_TRY(ons_stage_graph_simulate(g, lists, costs, &simulation));
    *step = ons_simulation_seconds(simulation);
    ons_simulation_free(simulation);
    return NULL;
}

/* A line of stages whose lists stay as they are, and which wait for data alone: onstage runs a line like that. */
static ons_status *simulate_unordered(const ons_graph_problem *problem, ons_stage_graph *g, ons_interval_costs *costs,
                                      ons_arena *arena, double *step) {
    int64_t *in_flight;
    ONS_NEW(in_flight, arena, g->stage_count);
    for (uint32_t i = 0; i < g->stage_count; ++i) in_flight[i] = g->stages[i].in_flight;
    ONS_TRY(ons_stage_graph_connect(g, problem->work[0], false, arena));
    ONS_TRY(ons_stage_graph_predict(g, costs));
    for (uint32_t i = 0; i < g->stage_count; ++i) g->stages[i].in_flight = in_flight[i];
    return simulate(g, costs, arena, step);
}

static ons_status *try_line(const ons_graph_problem *problem, int64_t samples, const char *order, ons_arena *arena,
                            best_run *best) {
    ons_stage_graph g;
    ons_interval_costs *costs;
    best_run run;
    double step, unordered;
    ONS_TRY(best_line(problem, samples, arena, &g));
    if (g.stage_count == 0) return NULL;
    ONS_TRY(ons_interval_costs_new(problem, g.order, &costs));
    ons_status *status = simulate(&g, costs, arena, &step);
    if (status == NULL) note(&g, step, order, &run);
    if (status == NULL && step < best->step) status = simulate_unordered(problem, &g, costs, arena, &unordered);
    ons_interval_costs_free(costs);
    if (status != NULL || !(step < best->step)) return status;
    *best = run;
    best->unordered = unordered;
    return NULL;
}

/* The problem with its nodes in another order. */
static ons_status *reorder(const ons_graph_problem *problem, ons_order_kind kind, ons_arena *arena,
                           ons_graph_problem *result) {
    const ons_workload **works;
    uint32_t *order;
    ONS_TRY(ons_work_order(problem->work[0], kind, problem->devices, arena, &order));
    ONS_NEW(works, arena, problem->sizes);
    for (uint32_t i = 0; i < problem->sizes; ++i) {
        ons_workload *work;
        ONS_NEW(work, arena, 1);
        ONS_TRY(ons_work_reorder(problem->work[i], order, arena, work));
        works[i] = work;
    }
    *result = *problem;
    result->work = works;
    return NULL;
}

/* Seconds that a sample takes at least with micro-batches of so many, whose replicas share them. */
static double least_seconds(const ons_graph_problem *p, int64_t samples) {
    double least = INFINITY;
    for (uint32_t i = 0; i < p->sizes && (int64_t)1 << i <= samples; ++i)
        least = fmin(least, ons_work_seconds(p->work[i], 0, p->work[i]->node_count) / (double)((int64_t)1 << i));
    return least;
}

double least_step(const ons_graph_problem *p) { return least_seconds(p, p->batch) * (double)p->batch / p->devices; }

static bool is_hopeless(const ons_graph_problem *p, int64_t samples, const best_run *best) {
    return least_seconds(p, samples) * (double)p->batch / p->devices >= best->step;
}

static ons_status *try_order(const ons_graph_problem *problem, ons_order_kind kind, int64_t samples, ons_arena *arena,
                             best_run *best) {
    ons_graph_problem ordered;
    ONS_TRY(reorder(problem, kind, arena, &ordered));
    if (samples > 0) return try_line(&ordered, samples, ons_order_name(kind), arena, best);
    for (samples = problem->batch; samples > 0; samples /= 2)
        if (!is_hopeless(problem, samples, best))
            ONS_TRY(try_line(&ordered, samples, ons_order_name(kind), arena, best));
    return NULL;
}

ons_status *run_best_line(const ons_graph_problem *problem, int64_t samples, best_run *best) {
    *best = (best_run){.step = INFINITY, .unordered = INFINITY, .order = "-"};
    for (ons_order_kind kind = 0; kind < ONS_ORDER_COUNT; ++kind) {
        ons_arena *arena = ons_arena_new();
        if (arena == NULL) return ons_status_out_of_memory();
        ons_status *status = try_order(problem, kind, samples, arena, best);
        ons_arena_free(arena);
        ONS_TRY(status);
    }
    return NULL;
}

static ons_status *search_order(const ons_graph_problem *problem, ons_order_kind kind, ons_arena *arena,
                                best_run *best) {
    const ons_graphpipe_options options = {.line = true};
    ons_graph_problem ordered;
    ons_graphpipe_result result;
    ONS_TRY(reorder(problem, kind, arena, &ordered));
    ONS_TRY(ons_graphpipe_search(&ordered, &options, arena, &result));
    if (result.feasible && result.step_seconds < best->step)
        note(&result.graph, result.step_seconds, ons_order_name(kind), best);
    return NULL;
}

ons_status *run_searched_line(const ons_graph_problem *problem, best_run *best) {
    *best = (best_run){.step = INFINITY, .unordered = INFINITY, .order = "-"};
    for (ons_order_kind kind = 0; kind < ONS_ORDER_COUNT; ++kind) {
        ons_arena *arena = ons_arena_new();
        if (arena == NULL) return ons_status_out_of_memory();
        ons_status *status = search_order(problem, kind, arena, best);
        ons_arena_free(arena);
        ONS_TRY(status);
    }
    return NULL;
}

ons_status *run_best_graph(const ons_graph_problem *problem, int64_t samples, best_run *best) {
    const ons_graphpipe_options options = {.samples = samples};
    ons_graphpipe_result result;
    ons_arena *arena = ons_arena_new();
    *best = (best_run){.step = INFINITY, .unordered = INFINITY, .order = "-"};
    if (arena == NULL) return ons_status_out_of_memory();
    ons_status *status = ons_graphpipe_search(problem, &options, arena, &result);
    if (status == NULL && result.feasible) note(&result.graph, result.step_seconds, "parts", best);
    ons_arena_free(arena);
    return status;
}
