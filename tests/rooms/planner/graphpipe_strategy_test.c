/* GraphPipe as a partition strategy: its plans, as files too, those whose stages choose for themselves, and the
 * portfolio that knows it. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "planner/plan/plan_check.h"
#include "planner/plan/plan_replay.h"
#include "planner/search/portfolio.h"
#include "tests/rooms/planner/branch_problem.h"

static ons_arena *arena;

static void make_arena(void) { arena = ons_arena_new(); }
static void free_arena(void) { ons_arena_free(arena); }

TestSuite(graphpipe_strategy, .init = make_arena, .fini = free_arena);

static void expect_success(ons_status *status) {
    cr_assert(status == NULL, "%s", status != NULL ? ons_status_get_message(status) : "");
}

static const char STRATEGY[] = "graphpipe";

static ons_planning_problem make_problem(uint64_t seed, branch_problem *s) {
    expect_success(random_branch_problem(seed, 4 + (uint32_t)(seed % 20), 1, seed % 3 > 0, arena, s));
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
Test(graphpipe_strategy, plans_of_the_strategy_are_plans_like_any_other) {
    uint32_t fitted = 0, refused = 0;
    for (uint64_t seed = 1; seed <= 150; ++seed) {
        branch_problem s;
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
Test(graphpipe_strategy, stages_may_choose_by_themselves) {
    uint32_t sizes = 0, replicas = 0;
    for (uint64_t seed = 1; seed <= 120; ++seed) {
        branch_problem s;
        ons_planned planned, plain;
        ons_planning_problem p = make_problem(seed, &s);
        const ons_partition_strategy *strategy = ons_partition_strategy_find(STRATEGY);
        const ons_stage_choice choice = {.sizes = seed % 3 != 1,
                                         .replicas = seed % 3 != 2,
                                         .works = s.problem.work,
                                         .work_count = BRANCH_PROBLEM_SIZES};
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
Test(graphpipe_strategy, groupings_of_a_file_are_checked) {
    static const struct {
        const char *from, *to, *part;
    } cases[] = {
        {"\"replicas\":\t2", "\"replicas\":\t3", "does not divide"},
        {"\"replicas\":\t2", "\"replicas\":\t0", "decisions: stages[0]: 'replicas' is 0"},
        {"\"1F", "\"0F", "decisions"},
    };
    branch_problem s;
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
    expect_success(branch_graph_works(&two, BRANCH_PROBLEM_SIZES, &s.problem.work));
    const ons_stage_choice choice = {.replicas = true, .works = s.problem.work, .work_count = BRANCH_PROBLEM_SIZES};
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
Test(graphpipe_strategy, the_portfolio_knows_it) {
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
Test(graphpipe_strategy, it_needs_no_memory_strategy) {
    uint32_t fitted = 0;
    for (uint64_t seed = 1; seed <= 40; ++seed) {
        branch_problem s;
        ons_planned planned;
        ons_planning_problem p = make_problem(seed, &s);
        p.memory = NULL;
        expect_success(ons_planner_search(&p, ons_partition_strategy_find(STRATEGY), arena, &planned));
        fitted += planned.partition.feasible;
    }
    cr_expect_gt(fitted, 5);
}

Test(graphpipe_strategy, several_stages_on_a_device_are_refused) {
    branch_problem s;
    ons_planned planned;
    ons_planning_problem p = make_problem(1, &s);
    p.pipeline.stages = 4;
    p.pipeline.devices = 2;
    ons_status *status = ons_planner_search(&p, ons_partition_strategy_find(STRATEGY), arena, &planned);
    cr_assert_not_null(status);
    cr_expect_eq(ons_status_get_code(status), ONS_INVALID_ARGUMENT);
    ons_status_free(status);
}
