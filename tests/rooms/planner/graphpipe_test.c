/* GraphPipe's search: against all divisions that its decomposition allows, the conditions of a plan on random graphs,
 * its lists in the simulators, and the towers that it is for. */
#include "planner/stage_graph/graphpipe.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "planner/plan/plan_check.h"
#include "planner/plan/plan_replay.h"
#include "planner/search/portfolio.h"
#include "planner/simulate/pipeline_simulation.h"
#include "planner/stage_graph/graph_simulation.h"
#include "planner/stage_graph/stage_lists.h"
#include "planner/workload/order.h"
#include "tests/rooms/planner/branch_work.h"
#include "tests/rooms/planner/stage_divisions.h"
#include "tests/rooms/planner/whole_parts.h"

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
    ons_planning_problem hardware;
    ons_graph_problem problem;
} subject;

/* With links half of the time, and a capacity that some divisions exceed. */
static void make_random(uint64_t seed, uint32_t nodes, uint32_t devices, bool series_parallel, subject *s) {
    random_source random = {seed * 77};
    *s = (subject){.problem = {.batch = 0}};
    expect_success(series_parallel ? random_series_parallel(seed, nodes, arena, &s->graph)
                                   : random_dependencies(seed, nodes, arena, &s->graph));
    s->problem = (ons_graph_problem){.sizes = SIZES, .batch = 16, .devices = devices, .hardware = &s->hardware};
    expect_success(branch_graph_works(&s->graph, SIZES, &s->problem.work));
    if (random_chance(&random, 0.5)) {
        s->hardware.link_bandwidth = random_between(&random, 1e6, 1e9, true);
        s->hardware.link_latency = 1e-5;
    }
    const ons_workload *work = s->problem.work[2];
    ons_stage_memory all;
    const ons_stage_load load = {.in_flight = 2, .versions = 1, .accumulates = true};
    ons_work_stage_memory(work, 0, work->node_count, &load, &all);
    if (random_chance(&random, 0.7))
        s->hardware.capacity_bytes = (int64_t)((double)all.total * random_between(&random, 0.2, 1, false));
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
    if (s->hardware.capacity_bytes > 0) cr_expect_leq(g->memory_bytes, s->hardware.capacity_bytes, "%s", s->graph.name);
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
        make_random(seed, 2 + (uint32_t)(seed % 20), 2 + (uint32_t)(seed % 7), seed % 3 > 0, &t.s);
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
static const ons_workload *work_of(const subject *s, const ons_stage_graph *g, int64_t samples) {
    ons_workload *work = ons_arena_allocate(arena, 1, sizeof *work);
    uint32_t size = 0;
    while (s->problem.work[size]->samples < samples) ++size;
    expect_success(ons_work_reorder(s->problem.work[size], g->order, arena, work));
    return work;
}

static ons_pipeline_forecast simulate_stages(const subject *s, const ons_stage_graph *g, const ons_schedule *schedule) {
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
static void check_memory(const subject *s, const ons_stage_graph *g, const ons_schedule *schedule,
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
        subject s;
        ons_graphpipe_result found;
        ons_schedule schedule;
        make_random(seed, 2 + (uint32_t)(seed % 9), 2 + (uint32_t)(seed % 7), seed % 3 > 0, &s);
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

/* ---------------------------------------------------------------------------------------------------- as a strategy */

static const char STRATEGY[] = "graphpipe";

static ons_planning_problem make_problem(uint64_t seed, subject *s) {
    make_random(seed, 4 + (uint32_t)(seed % 20), 1, seed % 3 > 0, s);
    ons_planning_problem p = s->hardware;
    p.work = s->problem.work[2];
    p.memory = ons_memory_strategy_find("capuchin");
    p.host_bandwidth = 1e9;
    p.pipeline = (ons_pipeline){&ons_generator_one_f_one_b, 2 + (uint32_t)(seed % 3), 1 + (uint32_t)(seed % 11), 0, 1};
    return p;
}

/* A plan is read back as it was written, and runs as long as was said. */
static void check_file(const ons_planned *planned, uint64_t seed) {
    ons_plan plan = {.subject.batch = 1}, again;
    ons_pipeline_forecast forecast;
    char *text, *second;
    plan.partition = STRATEGY;
    plan.subject = (ons_plan_subject){.model = "m",
                                      .digest = "d",
                                      .loss = "l",
                                      .optimizer = "o",
                                      .precision = "p",
                                      .device_profile = "x",
                                      .trainable_digest = "t",
                                      .replicas = 1,
                                      .micro_batches = planned->problem.pipeline.micro_batches,
                                      .batch = planned->problem.pipeline.micro_batches};
    expect_success(ons_planner_fill(planned, arena, &plan));
    expect_success(ons_plan_print(&plan, &text));
    expect_success(ons_status_at(ons_plan_parse(text, strlen(text), arena, &again), "seed %lu", seed));
    expect_success(ons_plan_print(&again, &second));
    cr_expect_str_eq(text, second);
    expect_success(ons_plan_check_costs(&again, arena));
    expect_success(ons_plan_replay(&again, arena, &forecast));
    cr_expect_eq(forecast.iteration_seconds, plan.step_seconds, "seed %lu", seed);
    ons_simulation_free(forecast.simulation);
    free(text);
    free(second);
}

/* Plans, of any number of micro-batches, have lists that run, keep the cap, and are read back as they were written. */
Test(graphpipe, plans_of_the_strategy_are_plans_like_any_other) {
    uint32_t fitted = 0, refused = 0;
    for (uint64_t seed = 1; seed <= 150; ++seed) {
        subject s;
        ons_planned planned;
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
        check_file(&planned, seed);
    }
    cr_expect_gt(fitted, 60);
    cr_expect_gt(refused, 10);
}

/* So are those whose stages choose sizes and replicas; without links and a cap their step is no longer than that of
 * those that may not. */
Test(graphpipe, stages_may_choose_by_themselves) {
    uint32_t sizes = 0, replicas = 0;
    for (uint64_t seed = 1; seed <= 120; ++seed) {
        subject s;
        ons_planned planned, plain;
        ons_planning_problem p = make_problem(seed, &s);
        const ons_partition_strategy *strategy = ons_partition_strategy_find(STRATEGY);
        const ons_stage_choice choice = {
            .sizes = seed % 3 != 1, .replicas = seed % 3 != 2, .works = s.problem.work, .work_count = SIZES};
        p.work = s.problem.work[0];
        p.pipeline.micro_batches = 8 << seed % 2;
        expect_success(ons_planner_search(&p, strategy, arena, &plain));
        p.choice = &choice;
        expect_success(ons_planner_search(&p, strategy, arena, &planned));
        if (!planned.partition.feasible) continue;
        const ons_schedule *schedule = planned.problem.schedule;
        cr_expect_eq(schedule->devices, p.pipeline.stages, "seed %lu", seed);
        cr_expect_eq(schedule->micro_batches, p.pipeline.micro_batches, "seed %lu", seed);
        for (uint32_t i = 0; i < schedule->stages; ++i) {
            ons_stage_grouping g = ons_schedule_grouping(schedule, i);
            sizes += g.size > 1;
            replicas += g.copies > 1;
            cr_expect(g.copies == 1 || choice.replicas, "seed %lu", seed);
            if (p.capacity_bytes > 0) cr_expect_leq(planned.solutions[i].memory.total, p.capacity_bytes);
        }
        check_file(&planned, seed);
        ons_plan with = {0}, without = {0};
        if (p.capacity_bytes > 0 || p.link_bandwidth > 0) continue;
        expect_success(ons_planner_fill(&planned, arena, &with));
        expect_success(ons_planner_fill(&plain, arena, &without));
        cr_expect_leq(with.step_seconds, without.step_seconds * (1 + 1e-9), "seed %lu", seed);
    }
    cr_expect(sizes > 50 && replicas > 30, "%u and %u", sizes, replicas);
}

/* What a person may get wrong in a plan's stages. */
Test(graphpipe, groupings_of_a_file_are_checked) {
    static const struct {
        const char *from, *to, *part;
    } cases[] = {
        {"\"replicas\":\t2", "\"replicas\":\t3", "does not divide"},
        {"\"replicas\":\t2", "\"replicas\":\t0", "decisions: stages[0]: 'replicas' is 0"},
        {"\"1F", "\"0F", "decisions"},
    };
    subject s;
    ons_planned planned;
    ons_plan plan = {.partition = STRATEGY}, again;
    char *text;
    branch_graph two;
    branch_node node = {.name = "a", .seconds = 4, .backward = 2, .output_bytes = 1000, .weight_bytes = 8};
    uint32_t first;
    expect_success(branch_graph_new("two", 2, arena, &two));
    expect_success(branch_graph_add(&two, &node, &first));
    node.name = "b", node.seconds = 2, node.inputs = &first, node.input_count = 1;
    expect_success(branch_graph_add(&two, &node, &(uint32_t){0}));
    expect_success(branch_graph_works(&two, SIZES, &s.problem.work));
    const ons_stage_choice choice = {.replicas = true, .works = s.problem.work, .work_count = SIZES};
    const ons_planning_problem p = {.work = s.problem.work[0],
                                    .memory = ons_memory_strategy_find("none"),
                                    .choice = &choice,
                                    .pipeline = {&ons_generator_one_f_one_b, 3, 16, 0, 1}};
    expect_success(ons_planner_search(&p, ons_partition_strategy_find(STRATEGY), arena, &planned));
    cr_assert_eq(planned.partition.stages, 2);
    plan.subject = (ons_plan_subject){.model = "m", .micro_batches = 16, .batch = 16, .replicas = 1};
    expect_success(ons_planner_fill(&planned, arena, &plan));
    expect_success(ons_plan_print(&plan, &text));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char *at = strstr(text, cases[i].from), *changed;
        size_t length;
        cr_assert_not_null(at, "%s", text);
        FILE *out = open_memstream(&changed, &length);
        fprintf(out, "%.*s%s%s", (int)(at - text), text, cases[i].to, at + strlen(cases[i].from));
        fclose(out);
        ons_status *status = ons_plan_parse(changed, length, arena, &again);
        cr_assert_not_null(status, "%s for %s passes", cases[i].to, cases[i].from);
        cr_expect(strstr(ons_status_get_message(status), cases[i].part) != NULL, "'%s' lacks '%s'",
                  ons_status_get_message(status), cases[i].part);
        ons_status_free(status);
        free(changed);
    }
    free(text);
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
