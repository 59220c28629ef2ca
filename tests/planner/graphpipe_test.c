/* GraphPipe's search: against all divisions that its decomposition allows, the conditions of a plan on random graphs,
 * its lists in the simulators, and the towers that it is for. */
#include "planner/stage_graph/graphpipe.h"

#include <criterion/criterion.h>
#include <math.h>

#include "planner/search/portfolio.h"
#include "planner/simulate/pipeline_simulation.h"
#include "planner/stage_graph/graph_simulation.h"
#include "planner/stage_graph/stage_lists.h"
#include "planner/workload/order.h"
#include "tests/planner/branch_work.h"
#include "tests/planner/stage_divisions.h"
#include "tests/planner/whole_parts.h"

enum { SIZES = 5 };

static ons_arena *arena;

static void make_arena(void) { arena = ons_arena_new(); }
static void free_arena(void) { ons_arena_free(arena); }

TestSuite(graphpipe, .init = make_arena, .fini = free_arena);

static void expect_success(ons_status *status) {
    cr_assert(status == NULL, "%s", status != NULL ? ons_status_get_message(status) : "");
}

typedef struct subject {
    branch_graph graph;
    ons_planning_problem machine;
    ons_graph_problem problem;
} subject;

/* With links half of the time, and a capacity that some divisions exceed. */
static void make_random(uint64_t seed, uint32_t nodes, uint32_t devices, bool series_parallel, subject *s) {
    random_source random = {seed * 77};
    *s = (subject){.problem = {.batch = 0}};
    expect_success(series_parallel ? random_series_parallel(seed, nodes, arena, &s->graph)
                                   : random_dependencies(seed, nodes, arena, &s->graph));
    s->problem = (ons_graph_problem){.sizes = SIZES, .batch = 16, .devices = devices, .machine = &s->machine};
    expect_success(branch_graph_works(&s->graph, SIZES, &s->problem.work));
    if (random_chance(&random, 0.5)) {
        s->machine.link_bandwidth = random_between(&random, 1e6, 1e9, true);
        s->machine.link_latency = 1e-5;
    }
    const ons_workload *work = s->problem.work[2];
    ons_stage_memory all;
    const ons_stage_load load = {.in_flight = 2, .versions = 1, .accumulates = true};
    ons_work_stage_memory(work, 0, work->node_count, &load, &all);
    if (random_chance(&random, 0.7))
        s->machine.capacity_bytes = (int64_t)((double)all.total * random_between(&random, 0.2, 1, false));
}

/* ----------------------------------------------------------------------------------------------- against all others */

Test(graphpipe, no_allowed_division_is_faster) {
    uint32_t solved = 0;
    for (uint64_t seed = 1; seed <= 240; ++seed) {
        subject s;
        ons_graphpipe_result found;
        double best;
        int64_t samples = (int64_t)1 << (1 + seed % 3);
        make_random(seed, 2 + (uint32_t)(seed % 11), 1 + (uint32_t)(seed / 3 % 4), true, &s);
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
        subject s;
        ons_stage_graph best;
        ons_graphpipe_result found;
        make_random(seed, 3 + (uint32_t)(seed % 20), 1 + (uint32_t)(seed % 8), seed % 2 == 0, &s);
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

static void check_plan(const subject *s, const ons_graphpipe_result *found) {
    ons_action_list *lists;
    const ons_stage_graph *g = &found->graph;
    expect_success(ons_status_at(ons_stage_graph_check(g, s->problem.work[0], arena), "%s", s->graph.name));
    expect_success(ons_stage_lists_make(g, arena, &lists));
    expect_success(ons_status_at(ons_stage_lists_check(g, lists), "%s", s->graph.name));
    if (s->machine.capacity_bytes > 0) cr_expect_leq(g->memory_bytes, s->machine.capacity_bytes, "%s", s->graph.name);
    cr_expect_geq(found->step_seconds, g->seconds_per_sample * (double)g->batch * (1 - 1e-9), "%s", s->graph.name);
}

static void check_random_plans(bool series_parallel, ons_pace_choice paces, uint64_t seeds, uint32_t most_nodes) {
    uint32_t solved = 0;
    for (uint64_t seed = 1; seed <= seeds; ++seed) {
        subject s;
        ons_graphpipe_result found;
        make_random(seed, 1 + (uint32_t)(seed % most_nodes), 1 + (uint32_t)(seed % 8), series_parallel, &s);
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
        subject s;
        ons_graphpipe_result equal, own;
        make_random(seed, 2 + (uint32_t)(seed % 8), 1 + (uint32_t)(seed % 5), true, &s);
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
    subject s;
    ons_graphpipe_result found;
} towers;

/* Two towers of four seconds-long nodes on eight devices, 16 micro-batches. */
static void plan_towers(towers *t, bool line) {
    *t = (towers){.s.problem = {.sizes = 1, .batch = 16, .devices = 8, .most_replicas = 1}};
    t->s.problem.machine = &t->s.machine;
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
    expect_success(ons_stage_lists_schedule(&t.found.graph, arena, &lists));
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
        make_random(seed, 2 + (uint32_t)(seed % 20), 2 + (uint32_t)(seed % 7), seed % 3 > 0, &t.s);
        t.s.machine = (ons_planning_problem){0};
        t.s.problem.machine = &t.s.machine;
        t.s.problem.most_replicas = 1;
        const ons_graphpipe_options options = {.samples = 1};
        expect_success(ons_graphpipe_search(&t.s.problem, &options, arena, &t.found));
        if (!t.found.feasible) continue;
        ++compared;
        expect_success(ons_stage_lists_schedule(&t.found.graph, arena, &schedule));
        ons_stage_edges edges = edges_of(&t.found.graph, &schedule);
        expect_success(ons_status_at(ons_schedule_verify(&schedule, &edges, arena), "%s", t.s.graph.name));
        double step = simulate_as_pipeline(&t, &schedule, true), own = simulate_as_pipeline(&t, &schedule, false);
        cr_expect_float_eq(step, t.found.step_seconds, 1e-9 * step, "%s: %.9g and %.9g", t.s.graph.name, step,
                           t.found.step_seconds);
        cr_expect(own <= step * (1 + 1e-9), "%s: %.9g and %.9g", t.s.graph.name, own, step);
    }
    cr_expect_gt(compared, 50);
}

/* ------------------------------------------------------------------------------------------------------- as a strategy
 */

static const char STRATEGY[] = "graphpipe";

static ons_planning_problem make_problem(uint64_t seed, subject *s) {
    make_random(seed, 4 + (uint32_t)(seed % 20), 1, seed % 3 > 0, s);
    ons_planning_problem p = s->machine;
    p.work = s->problem.work[2];
    p.memory = ons_memory_strategy_find("capuchin");
    p.host_bandwidth = 1e9;
    p.pipeline = (ons_pipeline){&ons_generator_one_f_one_b, 2 + (uint32_t)(seed % 3), 1 + (uint32_t)(seed % 11), 0, 1};
    return p;
}

/* Plans, of any number of micro-batches, have lists that run, keep the cap, and are read back as they were written. */
Test(graphpipe, plans_of_the_strategy_are_plans_like_any_other) {
    uint32_t fitted = 0, refused = 0;
    for (uint64_t seed = 1; seed <= 150; ++seed) {
        subject s;
        ons_planned planned;
        ons_plan plan = {.subject.batch = 1}, again;
        char *text, *second;
        const ons_planning_problem p = make_problem(seed, &s);
        expect_success(ons_planner_search(&p, ons_partition_strategy_find(STRATEGY), arena, &planned));
        cr_assert_eq(planned.partition.stages, p.pipeline.stages, "seed %lu", seed);
        if (!planned.partition.feasible) {
            cr_expect_gt(planned.partition.least_bytes, p.capacity_bytes, "seed %lu", seed);
            ++refused;
            continue;
        }
        ++fitted;
        for (uint32_t i = 0; i < p.pipeline.stages && p.capacity_bytes > 0; ++i)
            cr_expect_leq(planned.solutions[i].memory.total, p.capacity_bytes, "seed %lu", seed);
        plan.partition = STRATEGY;
        plan.subject = (ons_plan_subject){.model = "m",
                                          .digest = "d",
                                          .loss = "l",
                                          .optimizer = "o",
                                          .precision = "p",
                                          .device_profile = "x",
                                          .trainable_digest = "t",
                                          .replicas = 1,
                                          .micro_batches = p.pipeline.micro_batches,
                                          .batch = p.pipeline.micro_batches};
        expect_success(ons_planner_fill(&planned, arena, &plan));
        expect_success(ons_plan_print(&plan, &text));
        expect_success(ons_status_at(ons_plan_parse(text, strlen(text), arena, &again), "seed %lu", seed));
        expect_success(ons_plan_print(&again, &second));
        cr_expect_str_eq(text, second);
        free(text);
        free(second);
    }
    cr_expect_gt(fitted, 60);
    cr_expect_gt(refused, 10);
}

/* The portfolio finds that towers lie better side by side, with less memory at the same step. */
Test(graphpipe, the_portfolio_knows_it) {
    branch_graph g;
    ons_workload work;
    ons_portfolio portfolio;
    const ons_portfolio_options options = {.strategy = ons_partition_strategy_find("auto"), .straight = true};
    expect_success(two_towers(2, 1, arena, &g));
    expect_success(branch_graph_work(&g, 1, &work));
    const ons_planning_problem p = {.work = &work,
                                    .memory = ons_memory_strategy_find("capuchin"),
                                    .pipeline = {&ons_generator_one_f_one_b, 4, 8, 4, 1}};
    expect_success(ons_portfolio_search(&p, &options, arena, &portfolio));
    bool found = false;
    for (uint32_t i = 0; i < portfolio.count; ++i) {
        const ons_portfolio_candidate *c = &portfolio.candidates[i];
        if (strcmp(c->name, STRATEGY) != 0) continue;
        found = true;
        cr_expect(isfinite(c->estimate) && c->schedule != NULL && c->why != NULL);
        cr_expect_leq(c->schedule->loads[0].in_flight, 3);
    }
    cr_expect(found);
}

/* Nobody decides about tensors: stages fit as they are, or do not. */
Test(graphpipe, it_needs_no_memory_strategy) {
    uint32_t fitted = 0;
    for (uint64_t seed = 1; seed <= 40; ++seed) {
        subject s;
        ons_planned planned;
        ons_planning_problem p = make_problem(seed, &s);
        p.memory = NULL;
        expect_success(ons_planner_search(&p, ons_partition_strategy_find(STRATEGY), arena, &planned));
        fitted += planned.partition.feasible;
    }
    cr_expect_gt(fitted, 5);
}

Test(graphpipe, several_stages_on_a_device_are_refused) {
    subject s;
    ons_planned planned;
    ons_planning_problem p = make_problem(1, &s);
    p.pipeline.stages = 4;
    p.pipeline.devices = 2;
    ons_status *status = ons_planner_search(&p, ons_partition_strategy_find(STRATEGY), arena, &planned);
    cr_assert_not_null(status);
    cr_expect_eq(ons_status_get_code(status), ONS_INVALID_ARGUMENT);
    ons_status_free(status);
}
