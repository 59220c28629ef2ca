/* The choice among schedules: never slower than 1F1B, within the cap, and everybody's reason is true. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "planner/search/portfolio.h"
#include "planner/simulate/pipeline_simulation.h"
#include "tests/rooms/planner/random_work.h"
#include "tests/rooms/planner/vision_work.h"

static ons_arena *arena;

static void make_arena(void) { arena = ons_arena_new(); }
static void free_arena(void) { ons_arena_free(arena); }

TestSuite(portfolio, .init = make_arena, .fini = free_arena);

static void expect_success(ons_status *status) {
    cr_assert(status == NULL, "%s", status != NULL ? ons_status_get_message(status) : "");
}

static ons_planning_problem pose(const ons_workload *work, uint32_t devices, uint32_t micro_batches) {
    return (ons_planning_problem){.work = work,
                                  .pipeline = {.stages = devices, .micro_batches = micro_batches},
                                  .link_bandwidth = 50e9,
                                  .link_latency = 1e-5,
                                  .host_bandwidth = 2e10,
                                  .memory = ons_memory_strategy_find("capuchin")};
}

static ons_portfolio search(const ons_planning_problem *p, const char *strategy) {
    ons_portfolio found;
    ons_portfolio_options options = {.strategy = ons_partition_strategy_find(strategy)};
    expect_success(ons_portfolio_search(p, &options, arena, &found));
    return found;
}

static ons_workload *small_vit(uint32_t blocks) {
    vision_work_options o = vision_work_vit(6);
    ons_workload *work = ons_arena_allocate(arena, 1, sizeof *work);
    o.blocks = blocks;
    expect_success(vision_work_make(&o, arena, work));
    return work;
}

static void print(const ons_portfolio *found) {
    for (uint32_t i = 0; i < found->count; ++i) {
        const ons_portfolio_candidate *c = &found->candidates[i];
        printf("%-70s %-8s step %8.4f estimate %8.4f %6.2f GB %6.3f s: %s\n", c->name, c->strategy, c->step_seconds,
               c->estimate, (double)c->memory_bytes * 1e-9, c->planning_seconds, c->why);
    }
    printf("%u candidates in %.2f s\n", found->count, found->seconds);
}

/* Infinite where it hangs. */
static double simulate(const ons_planned *planned) {
    ons_pipeline_setup setup = {
        .problem = &planned->problem, .first = planned->partition.first, .solutions = planned->solutions};
    ons_pipeline_forecast f;
    ons_status *status = ons_pipeline_simulate(&setup, arena, &f);
    if (status != NULL) {
        ons_status_free(status);
        return INFINITY;
    }
    double seconds = f.iteration_seconds;
    for (uint32_t i = 0; i < f.device_count && planned->problem.capacity_bytes > 0; ++i)
        cr_expect_leq(f.devices[i].peak_bytes, planned->problem.capacity_bytes);
    ons_simulation_free(f.simulation);
    return seconds;
}

static void expect_true_reasons(const ons_planning_problem *p, const ons_portfolio *found, uint64_t seed) {
    const ons_portfolio_candidate *first = &found->candidates[0];
    for (uint32_t i = 0; i < found->count; ++i) {
        const ons_portfolio_candidate *c = &found->candidates[i];
        cr_expect(c->why != NULL && c->name != NULL && c->strategy != NULL, "seed %lu, candidate %u", seed, i);
        cr_expect_eq(c->outcome == ONS_TAKEN, i == found->taken, "seed %lu: %s", seed, c->name);
        if (isfinite(c->step_seconds) && p->capacity_bytes > 0)
            cr_expect_leq(c->memory_bytes, p->capacity_bytes, "seed %lu: %s", seed, c->name);
    }
    if (found->taken == found->count) {
        cr_expect(first->outcome == ONS_TOO_LARGE || first->outcome == ONS_IMPOSSIBLE, "seed %lu: %s", seed,
                  first->why);
        return;
    }
    const ons_portfolio_candidate *best = &found->candidates[found->taken];
    for (uint32_t i = 0; i < found->count; ++i)
        cr_expect_leq(best->step_seconds, found->candidates[i].step_seconds * (1 + 1e-9), "seed %lu", seed);
    cr_expect_float_eq(simulate(&best->planned), best->step_seconds, 1e-9 * best->step_seconds, "seed %lu", seed);
}

/* ---------------------------------------------------------------------------------------------------------- choices */

Test(portfolio, faster_than_1f1b_on_a_vision_transformer) {
    ons_planning_problem p = pose(small_vit(20), 4, 8);
    ons_portfolio found = search(&p, "auto");
    print(&found);
    expect_true_reasons(&p, &found, 0);
    cr_assert_lt(found.taken, found.count);
    cr_expect_lt(found.candidates[found.taken].step_seconds, 0.9 * found.candidates[0].step_seconds);
}

/* Half of what 1F1B takes: what fits then swaps or computes again, or holds fewer micro-batches. */
Test(portfolio, under_a_cap) {
    ons_planning_problem p = pose(small_vit(3), 4, 8);
    ons_portfolio free = search(&p, "auto");
    p.capacity_bytes = free.candidates[0].memory_bytes * 6 / 10;
    ons_portfolio found = search(&p, "auto");
    print(&found);
    expect_true_reasons(&p, &found, 0);
    cr_assert_lt(found.taken, found.count);
}

Test(portfolio, nothing_fits) {
    ons_planning_problem p = pose(small_vit(4), 4, 4);
    p.capacity_bytes = 1 << 20;
    ons_portfolio found = search(&p, "auto");
    cr_expect_eq(found.taken, found.count);
    expect_true_reasons(&p, &found, 0);
}

/* Replicas add up the gradients of all weights in each step, whichever schedule is taken. */
static void expect_sums(const ons_planning_problem *p, const ons_planning_problem *alone) {
    ons_portfolio found = search(p, "auto"), single = search(alone, "auto");
    uint32_t compared = 0;
    print(&found);
    for (uint32_t i = 0; i < found.count; ++i) {
        const ons_portfolio_candidate *c = &found.candidates[i];
        cr_expect_eq(c->pipeline.replicas, p->pipeline.replicas, "%s has %u replicas", c->name, c->pipeline.replicas);
        if (c->outcome == ONS_TAKEN) cr_expect_float_eq(simulate(&c->planned), c->step_seconds, 1e-9 * c->step_seconds);
        for (uint32_t k = 0; k < single.count && isfinite(c->step_seconds); ++k) {
            if (strcmp(single.candidates[k].name, c->name) != 0 || !isfinite(single.candidates[k].step_seconds))
                continue;
            cr_expect_gt(c->step_seconds, 1.2 * single.candidates[k].step_seconds, "%s: %g s, and %g s alone", c->name,
                         c->step_seconds, single.candidates[k].step_seconds);
            ++compared;
        }
    }
    cr_expect_gt(compared, 1);
}

Test(portfolio, replicas_are_counted_by_every_candidate) {
    ons_planning_problem alone = pose(small_vit(3), 4, 8), p;
    alone.link_bandwidth = 1e9;
    p = alone;
    p.pipeline.replicas = 4;
    expect_sums(&p, &alone);
    alone.pipeline.devices = 4, alone.pipeline.stages = 8;
    p.pipeline.devices = 4, p.pipeline.stages = 8;
    expect_sums(&p, &alone);
}

/* ------------------------------------------------------------------------------------------------------- properties */

static ons_planning_problem random_problem(uint64_t seed) {
    random_source random = {seed};
    ons_workload *work = ons_arena_allocate(arena, 1, sizeof *work);
    random_work_options w = random_work_graph(seed, 20 + random_below(&random, 30));
    if (random_chance(&random, 0.5)) w = (random_work_options){.seed = seed, .nodes = w.nodes};
    expect_success(random_work_make(&w, arena, work));
    uint32_t devices = 2 + random_below(&random, 3);
    ons_planning_problem p = pose(work, devices, devices + random_below(&random, 6));
    p.link_bandwidth = random_chance(&random, 0.5) ? random_between(&random, 1e7, 1e9, true) : 0;
    p.host_bandwidth = 1e8;
    if (random_chance(&random, 0.3)) p.pipeline.devices = devices, p.pipeline.stages = 2 * devices;
    return p;
}

Test(portfolio, random_graphs_with_and_without_caps) {
    uint32_t faster = 0, cases = 0;
    for (uint64_t seed = 1; seed <= 10; ++seed) {
        ons_planning_problem p = random_problem(seed);
        ons_portfolio found = search(&p, "pfeife");
        expect_true_reasons(&p, &found, seed);
        cr_assert_lt(found.taken, found.count, "seed %lu: %s", seed, found.candidates[0].why);
        const ons_portfolio_candidate *best = &found.candidates[found.taken], *first = &found.candidates[0];
        ++cases;
        faster += best->step_seconds < first->step_seconds * (1 - 1e-6);
        if (isfinite(first->step_seconds)) {
            random_source random = {seed};
            p.capacity_bytes = (int64_t)((double)first->memory_bytes * (0.7 + 0.4 * random_unit(&random)));
            found = search(&p, "auto");
            expect_true_reasons(&p, &found, seed);
        }
        free_arena(), make_arena();
    }
    printf("%u of %u faster than the first candidate\n", faster, cases);
    cr_expect_gt(faster, cases / 2);
}

/* What was not planned, since its estimate was above the best step, would not have won. */
Test(portfolio, what_was_not_planned_would_not_have_won) {
    uint32_t hopeless = 0;
    for (uint64_t seed = 1; seed <= 8; ++seed) {
        ons_planning_problem p = random_problem(seed);
        ons_portfolio found = search(&p, "auto");
        cr_assert_lt(found.taken, found.count);
        double best = found.candidates[found.taken].step_seconds;
        for (uint32_t i = 0; i < found.count; ++i) {
            const ons_portfolio_candidate *c = &found.candidates[i];
            ons_planning_problem own = p;
            ons_planned planned;
            if (c->outcome != ONS_HOPELESS) continue;
            own.pipeline = c->pipeline;
            own.schedule = c->schedule;
            ons_status *status = ons_planner_search(&own, ons_partition_strategy_find(c->strategy), arena, &planned);
            if (status == NULL) {
                ++hopeless;
                double seconds = simulate(&planned);
                cr_expect_geq(seconds, best * (1 - 1e-9), "seed %lu: %s", seed, c->name);
            }
            ons_status_free(status);
        }
        free_arena(), make_arena();
    }
    cr_expect_gt(hopeless, 10);
}
