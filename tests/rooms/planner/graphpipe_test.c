/* GraphPipe's search: against all divisions that its decomposition allows, the conditions of a plan on random graphs,
 * its lists in the simulators, and the towers that it is for. */
#include "planner/stage_graph/graphpipe.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "planner/simulate/pipeline_simulation.h"
#include "planner/stage_graph/graph_simulation.h"
#include "planner/stage_graph/stage_lists.h"
#include "planner/workload/order.h"
#include "tests/rooms/planner/branch_problem.h"
#include "tests/rooms/planner/stage_divisions.h"
#include "tests/rooms/planner/whole_parts.h"

static ons_arena *arena;

static void make_arena(void) { arena = ons_arena_new(); }
static void free_arena(void) { ons_arena_free(arena); }

TestSuite(graphpipe, .init = make_arena, .fini = free_arena);

static void expect_success(ons_status *status) {
    cr_assert(status == NULL, "%s", status != NULL ? ons_status_get_message(status) : "");
}

/* ----------------------------------------------------------------------------------------------- against all others */

Test(graphpipe, no_allowed_division_is_faster) {
    uint32_t solved = 0;
    for (uint64_t seed = 1; seed <= 240; ++seed) {
        branch_problem s;
        ons_graphpipe_result found;
        double best;
        int64_t samples = (int64_t)1 << (1 + seed % 3);
        expect_success(
            random_branch_problem(seed, 2 + (uint32_t)(seed % 11), 1 + (uint32_t)(seed / 3 % 4), true, arena, &s));
        expect_success(best_allowed_division(&s.problem, samples, &best));
        const ons_graphpipe_options options = {.objective = ONS_OBJECTIVE_BOTTLENECK, .samples = samples};
        expect_success(ons_graphpipe_search(&s.problem, &options, arena, &found));
        cr_assert_eq(found.feasible, isfinite(best), "%s: %s, and the best is %g", s.graph.name,
                     found.feasible ? "found" : "not found", best);
        if (!found.feasible) continue;
        ++solved;
        cr_expect_float_eq(found.graph.seconds_per_sample, best, 2e-6 * best,
                           "%s on %u devices: %.9g, and %.9g is possible", s.graph.name, s.problem.devices,
                           found.graph.seconds_per_sample, best);
    }
    cr_expect_gt(solved, 80);
}

Test(graphpipe, a_line_is_divided_as_well_as_can_be) {
    uint32_t solved = 0;
    for (uint64_t seed = 1; seed <= 100; ++seed) {
        branch_problem s;
        ons_stage_graph best;
        ons_graphpipe_result found;
        expect_success(
            random_branch_problem(seed, 3 + (uint32_t)(seed % 20), 1 + (uint32_t)(seed % 8), seed % 2 == 0, arena, &s));
        const ons_graphpipe_options options = {.line = true, .objective = ONS_OBJECTIVE_BOTTLENECK, .samples = 4};
        expect_success(best_line(&s.problem, 4, arena, &best));
        expect_success(ons_graphpipe_search(&s.problem, &options, arena, &found));
        cr_assert_eq(found.feasible, best.stage_count > 0, "%s", s.graph.name);
        if (!found.feasible) continue;
        ++solved;
        cr_expect_float_eq(found.graph.seconds_per_sample, best.seconds_per_sample, 2e-6 * best.seconds_per_sample,
                           "%s on %u devices", s.graph.name, s.problem.devices);
    }
    cr_expect_gt(solved, 40);
}

/* ------------------------------------------------------------------------------------------------ what a plan keeps */

static void check_plan(const branch_problem *s, const ons_graphpipe_result *found) {
    ons_action_list *lists;
    const ons_stage_graph *g = &found->graph;
    expect_success(ons_status_at(ons_stage_graph_check(g, s->problem.work[0], arena), "%s", s->graph.name));
    expect_success(ons_stage_lists_make(g, arena, &lists));
    expect_success(ons_status_at(ons_stage_lists_check(g, lists), "%s", s->graph.name));
    if (s->hardware.capacity_bytes > 0) cr_expect_leq(g->memory_bytes, s->hardware.capacity_bytes, "%s", s->graph.name);
    cr_expect_geq(found->step_seconds, g->seconds_per_sample * (double)g->batch * (1 - 1e-9), "%s", s->graph.name);
}

static void check_random_plans(bool series_parallel, ons_pace_choice paces, uint64_t seeds, uint32_t most_nodes) {
    uint32_t solved = 0;
    for (uint64_t seed = 1; seed <= seeds; ++seed) {
        branch_problem s;
        ons_graphpipe_result found;
        expect_success(random_branch_problem(seed, 1 + (uint32_t)(seed % most_nodes), 1 + (uint32_t)(seed % 8),
                                             series_parallel, arena, &s));
        const ons_graphpipe_options options = {.paces = paces};
        expect_success(ons_graphpipe_search(&s.problem, &options, arena, &found));
        if (!found.feasible) continue;
        ++solved;
        check_plan(&s, &found);
    }
    cr_expect_gt(solved, seeds / 3);
}

Test(graphpipe, plans_of_1000_series_parallel_graphs_keep_the_conditions) {
    check_random_plans(true, ONS_PACE_EQUAL, 1000, 30);
}
Test(graphpipe, so_do_plans_of_other_graphs) { check_random_plans(false, ONS_PACE_EQUAL, 200, 24); }
Test(graphpipe, so_do_plans_with_paces_by_stage) { check_random_plans(true, ONS_PACE_FREE, 120, 10); }

/* More choice is never slower in what the search looks for, where micro-batches are given. */
Test(graphpipe, free_paces_are_no_slower_a_sample) {
    for (uint64_t seed = 1; seed <= 60; ++seed) {
        branch_problem s;
        ons_graphpipe_result equal, own;
        expect_success(
            random_branch_problem(seed, 2 + (uint32_t)(seed % 8), 1 + (uint32_t)(seed % 5), true, arena, &s));
        ons_graphpipe_options options = {.objective = ONS_OBJECTIVE_BOTTLENECK, .samples = 8};
        expect_success(ons_graphpipe_search(&s.problem, &options, arena, &equal));
        options.paces = ONS_PACE_FREE;
        expect_success(ons_graphpipe_search(&s.problem, &options, arena, &own));
        cr_assert(!equal.feasible || own.feasible, "%s", s.graph.name);
        if (equal.feasible)
            cr_expect_leq(own.graph.seconds_per_sample, equal.graph.seconds_per_sample * (1 + 2e-6), "%s",
                          s.graph.name);
    }
}

/* --------------------------------------------------------------------------------------------------------- the step */

typedef struct towers {
    branch_problem s;
    ons_graphpipe_result found;
} towers;

/* Two towers of four seconds-long nodes on eight devices, 16 micro-batches. */
static void plan_towers(towers *t, bool line) {
    *t = (towers){.s.problem = {.sizes = 1, .batch = 16, .devices = 8, .most_replicas = 1}};
    t->s.problem.hardware = &t->s.hardware;
    expect_success(two_towers(4, 1, arena, &t->s.graph));
    expect_success(branch_graph_works(&t->s.graph, 1, &t->s.problem.work));
    const ons_graphpipe_options options = {.line = line, .samples = 1};
    expect_success(ons_graphpipe_search(&t->s.problem, &options, arena, &t->found));
    cr_assert(t->found.feasible && t->found.graph.stage_count == 8);
}

/* The plan's stages in the simulator of pipelines, with its lists or, `schedule` NULL, with those of 1f1b; `whole`: as
 * the search counts them. */
static double simulate_as_pipeline(const towers *t, const ons_schedule *schedule, bool whole) {
    const ons_stage_graph *g = &t->found.graph;
    ons_workload work;
    ons_pipeline_forecast forecast;
    uint32_t first[9] = {0};
    expect_success(ons_work_reorder(t->s.problem.work[0], g->order, arena, &work));
    for (uint32_t i = 0; i < g->stage_count; ++i) first[i + 1] = g->stages[i].end;
    const ons_planning_problem problem = {.work = &work,
                                          .pipeline = {&ons_generator_one_f_one_b, g->stage_count, 16, 0, 1}};
    const ons_pipeline_setup setup = {.problem = &problem, .first = first, .schedule = schedule, .times_alone = true};
    expect_success(whole ? whole_parts_simulate(&setup, arena, &forecast)
                         : ons_pipeline_simulate(&setup, arena, &forecast));
    ons_simulation_free(forecast.simulation);
    return forecast.iteration_seconds;
}

Test(graphpipe, towers_take_todays_step_with_5_in_flight_instead_of_8) {
    towers t;
    ons_schedule lists;
    ons_pipeline pipeline = {&ons_generator_one_f_one_b, 8, 16, 0, 1};
    ons_schedule by_number;
    plan_towers(&t, false);
    expect_success(ons_schedule_make(&pipeline, arena, &by_number));
    expect_success(ons_stage_lists_schedule(&t.found.graph, 0, arena, &lists));
    cr_expect_eq(by_number.loads[0].in_flight, 8);
    for (uint32_t i = 0; i < 8; ++i) cr_expect_leq(lists.loads[i].in_flight, 5, "stage %u", i);
    cr_expect_float_eq(simulate_as_pipeline(&t, NULL, true), 60, 1e-9);
    cr_expect_float_eq(simulate_as_pipeline(&t, &lists, true), 60, 1e-9);
    cr_expect_float_eq(t.found.step_seconds, 60, 1e-9);
}

Test(graphpipe, as_a_line_towers_take_longer) {
    towers t;
    plan_towers(&t, true);
    cr_expect_eq(t.found.graph.stages[0].in_flight, 8);
    cr_expect_float_eq(t.found.step_seconds, (16 + 7) * 3, 1e-9);
}

static ons_stage_edges edges_of(const ons_stage_graph *g, const ons_schedule *schedule) {
    ons_stage_edge *edges = ons_arena_allocate(arena, g->edge_count, sizeof *edges);
    for (uint32_t i = 0; i < g->edge_count; ++i) {
        uint32_t from = g->edges[i].from, to = g->edges[i].to;
        edges[i] = (ons_stage_edge){from, to, true, true, ons_schedule_ahead(schedule, from, to)};
    }
    return (ons_stage_edges){edges, g->edge_count};
}

/* Two simulators that know nothing of each other agree where both can be asked: one replica, one size, free links,
 * messages at the ends of parts. Where these leave when they are made and are due where they are read, links that are
 * free make no step longer. */
Test(graphpipe, lists_run_as_the_simulator_of_pipelines_says) {
    uint32_t compared = 0;
    for (uint64_t seed = 1; seed <= 150; ++seed) {
        towers t = {0};
        ons_schedule schedule;
        expect_success(random_branch_problem(seed, 2 + (uint32_t)(seed % 20), 2 + (uint32_t)(seed % 7), seed % 3 > 0,
                                             arena, &t.s));
        t.s.hardware = (ons_planning_problem){0};
        t.s.problem.hardware = &t.s.hardware;
        t.s.problem.most_replicas = 1;
        const ons_graphpipe_options options = {.samples = 1};
        expect_success(ons_graphpipe_search(&t.s.problem, &options, arena, &t.found));
        if (!t.found.feasible) continue;
        ++compared;
        expect_success(ons_stage_lists_schedule(&t.found.graph, 0, arena, &schedule));
        ons_stage_edges edges = edges_of(&t.found.graph, &schedule);
        expect_success(ons_status_at(ons_schedule_verify(&schedule, &edges, arena), "%s", t.s.graph.name));
        double step = simulate_as_pipeline(&t, &schedule, true), own = simulate_as_pipeline(&t, &schedule, false);
        cr_expect_float_eq(step, t.found.step_seconds, 1e-9 * step, "%s: %.9g and %.9g", t.s.graph.name, step,
                           t.found.step_seconds);
        cr_expect(own <= step * (1 + 1e-9), "%s: %.9g and %.9g", t.s.graph.name, own, step);
    }
    cr_expect_gt(compared, 50);
}

/* The workload that has so many samples, in the order of the plan. */
static const ons_workload *work_of(const branch_problem *s, const ons_stage_graph *g, int64_t samples) {
    ons_workload *work = ons_arena_allocate(arena, 1, sizeof *work);
    uint32_t size = 0;
    while (s->problem.work[size]->samples < samples) ++size;
    expect_success(ons_work_reorder(s->problem.work[size], g->order, arena, work));
    return work;
}

static ons_pipeline_forecast simulate_stages(const branch_problem *s, const ons_stage_graph *g,
                                             const ons_schedule *schedule) {
    const ons_workload **works = ons_arena_allocate(arena, g->stage_count, sizeof *works);
    uint32_t *first = ons_arena_allocate(arena, g->stage_count + 1, sizeof *first);
    ons_planning_problem problem = s->hardware;
    ons_pipeline_forecast forecast;
    problem.work = work_of(s, g, g->batch / schedule->micro_batches);
    problem.stage_works = works;
    problem.schedule = schedule;
    problem.memory = ons_memory_strategy_find("none");
    expect_success(ons_generator_of_lists(schedule, "graphpipe", arena, &problem.pipeline.generator));
    problem.pipeline.stages = schedule->stages;
    problem.pipeline.micro_batches = schedule->micro_batches;
    problem.pipeline.devices = schedule->devices;
    for (uint32_t i = 0; i < g->stage_count; ++i) {
        works[i] = work_of(s, g, g->stages[i].pace.samples / g->stages[i].replicas);
        first[i + 1] = g->stages[i].end;
    }
    const ons_pipeline_setup setup = {.problem = &problem, .first = first, .schedule = schedule};
    expect_success(ons_status_at(whole_parts_simulate(&setup, arena, &forecast), "%s", s->graph.name));
    return forecast;
}

static uint32_t stage_on(const ons_schedule *schedule, uint32_t device) {
    uint32_t stage = 0;
    while (!ons_schedule_holds(schedule, stage, device)) ++stage;
    return stage;
}

/* All that a device made it frees, and it holds no more than the stage's evaluation of its own micro-batches says. */
static void check_memory(const branch_problem *s, const ons_stage_graph *g, const ons_schedule *schedule,
                         const ons_pipeline_forecast *forecast) {
    for (uint32_t device = 0; device < schedule->devices; ++device) {
        const ons_device_forecast *f = &forecast->devices[device];
        uint32_t stage = stage_on(schedule, device);
        const ons_graph_stage *st = &g->stages[stage];
        ons_stage_memory memory;
        ons_work_stage_memory(work_of(s, g, st->pace.samples / st->replicas), st->first, st->end,
                              &schedule->loads[stage], &memory);
        cr_expect_eq(f->memory[0].bytes, f->memory[f->memory_count - 1].bytes, "%s, device %u", s->graph.name, device);
        cr_expect_geq(memory.total, f->memory[0].bytes, "%s, device %u", s->graph.name, device);
    }
}

/* Whether stages with replicas take as many samples as all others do: there the one simulator, which lets a replica
 * wait for all that its stage's micro-batch needs, is as exact as the other, where it waits for its own samples alone.
 */
static bool is_exact(const ons_stage_graph *g) {
    bool alike = true, single = true;
    for (uint32_t i = 0; i < g->stage_count; ++i) {
        alike = alike && g->stages[i].pace.samples == g->stages[0].pace.samples;
        single = single && g->stages[i].replicas == 1;
    }
    return alike || single;
}

/* The two simulators agree with any sizes and replicas, where links are free. */
Test(graphpipe, sizes_and_replicas_run_as_the_simulator_of_pipelines_says) {
    uint32_t sizes = 0, replicas = 0, exact = 0;
    for (uint64_t seed = 1; seed <= 200; ++seed) {
        branch_problem s;
        ons_graphpipe_result found;
        ons_schedule schedule;
        expect_success(
            random_branch_problem(seed, 2 + (uint32_t)(seed % 9), 2 + (uint32_t)(seed % 7), seed % 3 > 0, arena, &s));
        s.hardware = (ons_planning_problem){0};
        s.problem.hardware = &s.hardware;
        const ons_graphpipe_options options = {.paces = seed % 2 == 0 ? ONS_PACE_FREE : ONS_PACE_EQUAL,
                                               .samples = seed % 4 == 0 ? 4 : 2,
                                               .objective = ONS_OBJECTIVE_BOTTLENECK};
        expect_success(ons_graphpipe_search(&s.problem, &options, arena, &found));
        if (!found.feasible) continue;
        expect_success(ons_stage_lists_schedule(&found.graph, 0, arena, &schedule));
        ons_pipeline_forecast forecast = simulate_stages(&s, &found.graph, &schedule);
        cr_expect_leq(forecast.iteration_seconds, found.step_seconds * (1 + 1e-9), "%s: %.9g and %.9g", s.graph.name,
                      forecast.iteration_seconds, found.step_seconds);
        exact += schedule.groupings != NULL && is_exact(&found.graph);
        if (is_exact(&found.graph))
            cr_expect_geq(forecast.iteration_seconds, found.step_seconds * (1 - 1e-9), "%s: %.9g and %.9g",
                          s.graph.name, forecast.iteration_seconds, found.step_seconds);
        check_memory(&s, &found.graph, &schedule, &forecast);
        ons_simulation_free(forecast.simulation);
        for (uint32_t i = 0; i < schedule.stages && schedule.groupings != NULL; ++i) {
            sizes += schedule.groupings[i].size > 1;
            replicas += schedule.groupings[i].copies > 1;
        }
    }
    cr_expect(sizes > 50 && replicas > 50 && exact > 50, "%u, %u and %u", sizes, replicas, exact);
}
