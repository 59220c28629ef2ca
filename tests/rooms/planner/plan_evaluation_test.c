/* What a plan predicts is what a program finds that knows the plan's file alone, at random points: graphs, schedules of
 * every synchronous generator, memory. Links take no time. A failure names the seed. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "planner/schedule/separate.h"
#include "planner/search/planner.h"
#include "planner/search/slices.h"
#include "tests/rooms/planner/branch_work.h"
#include "tests/rooms/planner/plan_evaluation.h"
#include "tests/rooms/planner/random_pipeline.h"

enum { SEARCHED = 300, CUT_BY_CHANCE = 700 };

static ons_arena *arena;

static void make_arena(void) { arena = ons_arena_new(); }
static void free_arena(void) { ons_arena_free(arena); }

TestSuite(plan_evaluate, .init = make_arena, .fini = free_arena);

static void expect_success(ons_status *status, uint64_t seed) {
    cr_assert(status == NULL, "seed %llu: %s", (unsigned long long)seed,
              status != NULL ? ons_status_get_message(status) : "");
}

/* ----------------------------------------------------------------------------------------------------------- points */

/* Of so many stages at most, and at least one on each device. */
static ons_pipeline random_schedule(random_source *random, uint32_t most_stages) {
    const ons_generator *g;
    uint32_t count = 0;
    while (ons_generators[count] != NULL) ++count;
    do g = ons_generators[random_below(random, count)];
    while (g->asynchronous || g->group != NULL);
    uint32_t chunks = g->chunks;
    if (chunks > 1 && g != &ons_generator_v) chunks = 1 + random_below(random, 3);
    uint32_t devices = 1 + random_below(random, most_stages / chunks < 6 ? most_stages / chunks : 6);
    return (ons_pipeline){g, devices * chunks, 1 + random_below(random, 14), devices, 1};
}

static void make_problem(random_source *random, uint64_t seed, uint32_t most_stages, random_pipeline *r) {
    *r = (random_pipeline){.seed = seed};
    ons_pipeline pipeline = random_schedule(random, most_stages);
    uint32_t nodes = pipeline.stages + random_below(random, 30);
    bool chain = random_chance(random, 0.3);
    expect_success(random_pipeline_work(random_next(random), chain, nodes, arena, &r->work), seed);
    for (uint32_t i = 0; i < nodes; ++i)
        r->work.nodes[i].late_weight_seconds = random_unit(random) * r->work.nodes[i].weight_gradient_seconds;
    r->problem = (ons_planning_problem){.work = &r->work,
                                        .pipeline = pipeline,
                                        .host_bandwidth = random_between(random, 1e6, 1e9, true),
                                        .host_latency = random_chance(random, 0.5) ? 1e-5 : 0,
                                        .host_share = random_chance(random, 0.2) ? 1 : 0,
                                        .memory = ons_memory_strategy_find("capuchin")};
}

/* As the planner cuts it and decides, with somewhat less memory than the stages would like; false: nothing fits. */
static bool search(random_source *random, uint64_t seed, random_pipeline *r, ons_planned *planned) {
    make_problem(random, seed, 18, r);
    uint32_t nodes = r->work.node_count, stages = r->problem.pipeline.stages;
    ons_stage_load load = {.in_flight = 1 + stages / 2, .versions = 1, .accumulates = true};
    ons_stage_memory m;
    ons_work_stage_memory(&r->work, 0, (nodes + stages - 1) / stages, &load, &m);
    r->problem.capacity_bytes = (int64_t)((double)m.total * random_between(random, 0.5, 4, true));
    expect_success(ons_planner_search(&r->problem, ons_partition_strategy_find("auto"), arena, planned), seed);
    return planned->partition.feasible;
}

/* Some weight gradients put off into bubbles, by lists that no generator makes. */
static void separate(random_source *random, uint64_t seed, ons_planning_problem *p) {
    ons_stage_times *times = ons_arena_allocate(arena, p->pipeline.stages, sizeof *times);
    ons_schedule *lists = ons_arena_allocate(arena, 1, sizeof *lists);
    for (uint32_t i = 0; i < p->pipeline.stages; ++i)
        times[i] = (ons_stage_times){random_unit(random), random_unit(random), random_unit(random)};
    ons_schedule whole;
    expect_success(ons_schedule_make(&p->pipeline, arena, &whole), seed);
    expect_success(ons_schedule_separate(&whole, times, NULL, arena, lists), seed);
    expect_success(ons_generator_of_lists(lists, "separate", arena, &p->pipeline.generator), seed);
}

/* Cut anywhere, with decisions that nobody would make. */
static void cut_by_chance(random_source *random, uint64_t seed, random_pipeline *r, ons_planned *planned) {
    make_problem(random, seed, RANDOM_PIPELINE_STAGES, r);
    const ons_pipeline *p = &r->problem.pipeline;
    ons_schedule *schedule = ons_arena_allocate(arena, 1, sizeof *schedule);
    if (p->generator != &ons_generator_zero_bubble && random_chance(random, 0.3)) separate(random, seed, &r->problem);
    random_pipeline_cut(random, r->work.node_count, p->stages, r->first);
    expect_success(random_pipeline_decide(random, arena, r), seed);
    expect_success(ons_schedule_make(p, arena, schedule), seed);
    r->problem.schedule = schedule;
    *planned = (ons_planned){.order = "file",
                             .problem = r->problem,
                             .partition = {.stages = p->stages, .first = r->first, .feasible = true},
                             .solutions = r->solutions};
}

/* ------------------------------------------------------------------------------------------------------------ judge */

typedef struct tally {
    uint32_t by_generator[16], copies, again, ties, gone, shared, sliced, larger, replicas;
} tally;

static void count(const ons_plan *plan, tally *t) {
    for (uint32_t i = 0; ons_generators[i] != NULL; ++i)
        t->by_generator[i] += strcmp(plan->pipeline.generator->name, ons_generators[i]->name) == 0;
    t->ties += plan->parts.tie_count;
    t->shared += plan->schedule.devices < plan->schedule.stages;
    for (uint32_t i = 0; i < plan->schedule.stages; ++i) {
        const ons_stage_tasks *s = &plan->parts.stages[i];
        t->copies += s->copy_count;
        for (uint32_t k = 0; k < s->copy_count; ++k) t->gone += s->copies[k].gone_backward != ONS_NO_NODE;
        for (uint32_t k = 0; k < s->backward_count; ++k) t->again += s->backward[k].kind == ONS_ACTION_RECOMPUTE;
    }
}

static void count_groups(const ons_plan *plan, tally *t) {
    for (uint32_t i = 0; i < plan->schedule.stages; ++i) {
        ons_stage_grouping g = ons_schedule_grouping(&plan->schedule, i);
        t->larger += g.size > 1;
        t->replicas += g.copies > 1;
    }
}

static void judge(const ons_planned *planned, uint64_t seed, tally *t) {
    ons_plan plan = {.subject = {.model = "random.onnx",
                                 .batch = planned->problem.pipeline.micro_batches,
                                 .micro_batches = planned->problem.pipeline.micro_batches},
                     .partition = "auto"};
    char *text, why[PLAN_EVALUATE_TEXT];
    double step, predicted;
    expect_success(ons_planner_fill(planned, arena, &plan), seed);
    t->sliced += ons_plan_count_slices(&plan);
    expect_success(ons_plan_print(&plan, &text), seed);
    bool judged = plan_evaluate(text, &step, &predicted, why);
    free(text);
    cr_assert(judged, "seed %llu: %s", (unsigned long long)seed, why);
    cr_assert(predicted == plan.step_seconds && predicted > 0);
    cr_expect(fabs(step - predicted) <= 1e-9 * predicted, "seed %llu, %s, %u stages on %u devices: %.17g, not %.17g",
              (unsigned long long)seed, plan.pipeline.generator->name, plan.schedule.stages, plan.schedule.devices,
              step, predicted);
    count(&plan, t);
    count_groups(&plan, t);
}

static void expect_variety(const tally *t) {
    for (uint32_t i = 0; ons_generators[i] != NULL; ++i)
        if (!ons_generators[i]->asynchronous && ons_generators[i]->group == NULL)
            cr_expect_gt(t->by_generator[i], 20u, "%s: %u points", ons_generators[i]->name, t->by_generator[i]);
    cr_expect(t->copies > 100 && t->again > 100 && t->ties > 100 && t->shared > 50,
              "%u copies, %u pieces again, %u ties, %u points with several stages on a device", t->copies, t->again,
              t->ties, t->shared);
}

Test(plan_evaluate, agrees_with_what_was_searched) {
    tally t = {0};
    uint32_t judged = 0;
    for (uint64_t seed = 1; judged < SEARCHED; ++seed) {
        random_source random = {seed};
        random_pipeline r;
        ons_planned planned;
        if (search(&random, seed, &r, &planned)) {
            judge(&planned, seed, &t);
            ++judged;
        }
        free_arena(), make_arena();
    }
    expect_variety(&t);
}

Test(plan_evaluate, agrees_with_what_was_cut_by_chance) {
    tally t = {0};
    for (uint64_t seed = 1; seed <= CUT_BY_CHANCE; ++seed) {
        random_source random = {seed};
        random_pipeline r;
        ons_planned planned;
        cut_by_chance(&random, seed, &r, &planned);
        if (seed % 3 == 0) planned.problem.sliced = 1 + random_below(&random, 4);
        judge(&planned, seed, &t);
        free_arena(), make_arena();
    }
    expect_variety(&t);
    cr_expect_gt(t.gone, 100u);
    cr_expect_gt(t.sliced, 100u);
}

/* Stages that choose their micro-batches and replicas, as GraphPipe's search finds them. */
enum { SIZES = 4, GROUPED = 300 };

Test(plan_evaluate, agrees_with_stages_that_choose_sizes_and_replicas) {
    tally t = {0};
    for (uint64_t seed = 1; seed <= GROUPED; ++seed) {
        random_source random = {seed};
        branch_graph g;
        const ons_workload *const *works;
        ons_planned planned;
        uint32_t nodes = 8 + random_below(&random, 16);
        expect_success(seed % 4 == 0 ? random_dependencies(seed, nodes, arena, &g)
                                     : random_series_parallel(seed, nodes, arena, &g),
                       seed);
        for (uint32_t i = 0; i < g.count; ++i) {
            g.nodes[i].name = ons_arena_format(arena, "n%u", i);
            g.nodes[i].update_seconds = random_between(&random, 1e-4, 5e-3, true);
        }
        expect_success(branch_graph_works(&g, SIZES, &works), seed);
        const ons_stage_choice choice = {
            .sizes = seed % 3 != 1, .replicas = seed % 3 != 2, .works = works, .work_count = SIZES};
        const ons_planning_problem p = {.work = works[0],
                                        .pipeline = {&ons_generator_one_f_one_b, 2 + random_below(&random, 7),
                                                     8u << random_below(&random, 3), 0, 1},
                                        .choice = &choice,
                                        .memory = ons_memory_strategy_find("capuchin")};
        expect_success(ons_planner_search(&p, ons_partition_strategy_find("graphpipe"), arena, &planned), seed);
        if (planned.partition.feasible) judge(&planned, seed, &t);
        free_arena(), make_arena();
    }
    cr_expect(t.larger > 50 && t.replicas > 50, "%u stages of another size, %u with replicas", t.larger, t.replicas);
}
