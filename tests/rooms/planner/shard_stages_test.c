/* Models with sharded vocabularies: which stages they have, on which devices, in how much memory and time. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "planner/plan/plan_check.h"
#include "planner/plan/plan_replay.h"
#include "planner/search/portfolio.h"
#include "planner/search/shard_lists.h"
#include "planner/search/shard_stages.h"
#include "planner/workload/order.h"
#include "tests/rooms/planner/shard_work.h"

static ons_arena *arena;

static void make_arena(void) { arena = ons_arena_new(); }
static void free_arena(void) { ons_arena_free(arena); }

TestSuite(shard_stages, .init = make_arena, .fini = free_arena);

static void expect_success(ons_status *status, uint64_t seed) {
    cr_assert(status == NULL, "seed %lu: %s", seed, status != NULL ? ons_status_get_message(status) : "");
}

static ons_planned plan(const ons_planning_problem *p, uint64_t seed) {
    ons_planned planned;
    expect_success(ons_planner_search(p, ons_partition_strategy_find("auto"), arena, &planned), seed);
    return planned;
}

static double simulate(const ons_planned *planned, uint64_t seed) {
    ons_pipeline_forecast forecast;
    const ons_pipeline_setup setup = {.problem = &planned->problem,
                                      .first = planned->partition.first,
                                      .solutions = planned->solutions,
                                      .schedule = planned->problem.schedule}; /* given: verified, too */
    expect_success(ons_pipeline_simulate(&setup, arena, &forecast), seed);
    ons_simulation_free(forecast.simulation);
    return forecast.iteration_seconds;
}

/* What the device that computes longest does in a step. */
static double busiest_seconds(const ons_planned *planned) {
    const ons_schedule *s = planned->problem.schedule;
    double most = 0;
    for (uint32_t device = 0; device < s->devices; ++device) {
        double seconds = 0;
        for (uint32_t i = 0; i < s->stages; ++i)
            if (s->device_of[i] == device) seconds += planned->solutions[i].seconds * s->micro_batches;
        most = fmax(most, seconds);
    }
    return most;
}

/* A plan is read back as it was written, and runs as long as was said. */
static void check_file(const ons_planned *planned, uint64_t seed) {
    ons_plan plan = {.partition = "auto"}, again;
    ons_pipeline_forecast forecast;
    char *text, *second;
    int64_t batch = planned->problem.pipeline.micro_batches;
    plan.subject = (ons_plan_subject){.model = "m",
                                      .digest = "d",
                                      .loss = "l",
                                      .optimizer = "o",
                                      .precision = "p",
                                      .device_profile = "x",
                                      .trainable_digest = "t",
                                      .replicas = 1,
                                      .micro_batches = batch,
                                      .batch = batch};
    expect_success(ons_planner_fill(planned, arena, &plan), seed);
    expect_success(ons_plan_print(&plan, &text), seed);
    expect_success(ons_plan_parse(text, strlen(text), arena, &again), seed);
    expect_success(ons_plan_print(&again, &second), seed);
    cr_expect_str_eq(text, second);
    expect_success(ons_plan_check_costs(&again, arena), seed);
    expect_success(ons_plan_replay(&again, arena, &forecast), seed);
    cr_expect_eq(forecast.iteration_seconds, plan.step_seconds, "seed %lu", seed);
    ons_simulation_free(forecast.simulation);
    free(text);
    free(second);
}

/* ----------------------------------------------------------------------------------------------------------- stages */

static void expect_stage(const ons_planned *planned, uint32_t stage, uint32_t device, const char *names) {
    cr_expect_str_eq(shard_names_of(planned, stage, arena), names, "stage %u", stage);
    cr_expect_eq(planned->problem.schedule->device_of[stage], device, "stage %u", stage);
}

Test(shard_stages, each_device_has_its_shards_and_a_part_of_the_body) {
    shard_model m = shard_language_model(6, 1);
    shard_work w;
    expect_success(shard_work_make(&m, arena, &w), 1);
    const ons_planning_problem p = shard_work_pose(&w, 3, 6);
    const ons_planned planned = plan(&p, 1);
    cr_expect_str_eq(planned.order, "shards");
    cr_assert_eq(planned.partition.stages, 10);
    cr_expect_eq(planned.problem.pipeline.stages, 10);
    cr_expect_eq(planned.problem.pipeline.devices, 3);
    expect_stage(&planned, 0, 0, "look-up.0 look-up.1 ");
    expect_stage(&planned, 1, 1, "look-up.2 look-up.3 ");
    expect_stage(&planned, 2, 2, "look-up.4 look-up.5 ");
    expect_stage(&planned, 6, 0, "logits.0 logits.1 log sum.0 log sum.1 ");
    expect_stage(&planned, 7, 1, "logits.2 logits.3 log sum.2 log sum.3 ");
    expect_stage(&planned, 8, 2, "logits.4 logits.5 log sum.4 log sum.5 ");
    expect_stage(&planned, 9, 2, "loss ");
    cr_expect(strncmp(shard_names_of(&planned, 3, arena), "sum layer 0 ", 12) == 0);
    for (uint32_t i = 0; i < 3; ++i) cr_expect_eq(planned.problem.schedule->device_of[3 + i], i);
    for (uint32_t i = 0; i < p.work->node_count; ++i) {
        uint32_t node = planned.node_at[i];
        cr_expect_str_eq(planned.problem.work->nodes[i].name, p.work->nodes[node].name);
        cr_expect_eq(planned.problem.shards->of[i], w.shards.of[node]);
    }
    check_file(&planned, 1);
}

Test(shard_stages, a_head_or_a_table_may_be_sharded_alone) {
    for (int table = 0; table < 2; ++table) {
        shard_model m = shard_language_model(2, 2);
        shard_work w;
        *(table ? &m.head_seconds : &m.table_seconds) = 0;
        expect_success(shard_work_make(&m, arena, &w), 2);
        const ons_planning_problem p = shard_work_pose(&w, 2, 4);
        const ons_planned planned = plan(&p, 2);
        cr_expect_eq(planned.partition.stages, table ? 4 : 5);
        expect_stage(&planned, table ? 0 : 2, 0, table ? "look-up.0 " : "logits.0 log sum.0 ");
        expect_stage(&planned, table ? 1 : 3, 1, table ? "look-up.1 " : "logits.1 log sum.1 ");
        check_file(&planned, 2);
    }
}

Test(shard_stages, one_device_takes_shards_as_nodes_like_all_others) {
    shard_model m = shard_language_model(2, 3);
    shard_work w;
    expect_success(shard_work_make(&m, arena, &w), 3);
    const ons_planning_problem p = shard_work_pose(&w, 1, 4);
    const ons_planned planned = plan(&p, 3);
    cr_expect_eq(planned.partition.stages, 1);
}

/* Shards are counted by the nodes as the problem has them. */
Test(shard_stages, do_not_depend_on_where_the_file_has_its_shards) {
    shard_model m = shard_language_model(4, 4);
    shard_work w, moved;
    uint32_t *order, *of;
    expect_success(shard_work_make(&m, arena, &w), 4);
    const ons_planning_problem p = shard_work_pose(&w, 4, 8);
    const ons_planned planned = plan(&p, 4);
    for (ons_order_kind kind = 0; kind < ONS_ORDER_PACKED; ++kind) {
        expect_success(ons_work_order(&w.work, kind, 4, arena, &order), 4);
        expect_success(ons_work_reorder(&w.work, order, arena, &moved.work), 4);
        of = ons_arena_allocate(arena, w.work.node_count, sizeof *of);
        for (uint32_t i = 0; i < w.work.node_count; ++i) of[i] = w.shards.of[order[i]];
        moved.shards = (ons_node_shards){.count = 4, .of = of};
        const ons_planning_problem q = shard_work_pose(&moved, 4, 8);
        const ons_planned other = plan(&q, 4);
        for (uint32_t i = 0; i <= planned.partition.stages; ++i)
            cr_expect_eq(other.partition.first[i], planned.partition.first[i], "order %s", ons_order_name(kind));
        cr_expect_float_eq(simulate(&other, 4), simulate(&planned, 4), 1e-12, "order %s", ons_order_name(kind));
    }
}

Test(shard_stages, a_pipeline_of_shards_has_replicas) {
    shard_model m = shard_language_model(2, 5);
    shard_work w;
    expect_success(shard_work_make(&m, arena, &w), 5);
    ons_planning_problem p = shard_work_pose(&w, 2, 4);
    p.link_bandwidth = 1e9;
    const ons_planned alone = plan(&p, 5);
    p.pipeline.replicas = 3;
    const ons_planned planned = plan(&p, 5);
    cr_expect_eq(planned.problem.pipeline.replicas, 3);
    cr_expect_gt(simulate(&planned, 5), simulate(&alone, 5), "sums over replicas take their time");
}

Test(shard_stages, the_portfolio_has_nothing_else_for_them) {
    shard_model m = shard_language_model(2, 6);
    shard_work w;
    ons_portfolio portfolio;
    expect_success(shard_work_make(&m, arena, &w), 6);
    const ons_planning_problem p = shard_work_pose(&w, 2, 4);
    const ons_portfolio_options options = {.strategy = ons_partition_strategy_find("auto")};
    expect_success(ons_portfolio_search(&p, &options, arena, &portfolio), 6);
    cr_assert_eq(portfolio.count, 1);
    cr_expect_eq(portfolio.taken, 0);
    cr_expect_str_eq(portfolio.candidates[0].name, "shards");
    cr_expect_eq(portfolio.candidates[0].planned.partition.stages, 7);
}

/* --------------------------------------------------------------------------------------------------- cuts and lists */

static shard_model random_model(uint64_t seed, uint32_t *devices) {
    random_source random = {seed};
    *devices = 2 + random_below(&random, 5);
    shard_model m = shard_language_model(*devices * (1 + random_below(&random, 2)), seed);
    m.layers = *devices * (2 + random_below(&random, 6));
    m.layer_seconds = random_between(&random, 1e-4, 1e-3, false);
    m.table_seconds = random_below(&random, 3) == 0 ? 0 : random_between(&random, 1e-4, 5e-3, true);
    m.head_seconds =
        random_below(&random, 4) == 0 && m.table_seconds > 0 ? 0 : random_between(&random, 1e-3, 3e-2, true);
    m.unevenness = random_unit(&random) * 0.8;
    return m;
}

static double slowest_device(const ons_planning_problem *p, const ons_shard_order *o, const uint32_t *cuts) {
    uint32_t first[64];
    double most = 0;
    ons_shard_cuts_place(o, cuts, first);
    for (uint32_t device = 0; device < o->devices; ++device) {
        double seconds = 0;
        for (uint32_t i = 0; i < ons_shard_stage_count(o); ++i)
            if (ons_shard_stage_device(o, i) == device) seconds += ons_work_seconds(p->work, first[i], first[i + 1]);
        most = fmax(most, seconds);
    }
    return most;
}

/* Of all cuts. */
static double search_all(const ons_planning_problem *p, const ons_shard_order *o, uint32_t *cuts, uint32_t next) {
    double least = INFINITY;
    if (next == o->devices) return slowest_device(p, o, cuts);
    for (cuts[next] = cuts[next - 1] + 1; cuts[next] + (o->devices - next) <= o->body_end; ++cuts[next])
        least = fmin(least, search_all(p, o, cuts, next + 1));
    return least;
}

Test(shard_stages, the_slowest_device_is_as_fast_as_any_cuts_make_it) {
    for (uint64_t seed = 1; seed <= 60; ++seed) {
        uint32_t devices, cuts[8], found_cuts[ONS_SHARD_FILLINGS * 8];
        shard_model m = random_model(seed, &devices);
        shard_work w;
        ons_shard_order order;
        ons_workload work;
        ons_shard_cutting cutting;
        double fastest;
        bool found;
        m.layers = devices + (uint32_t)(seed % 7);
        expect_success(shard_work_make(&m, arena, &w), seed);
        ons_planning_problem p = shard_work_pose(&w, devices, 4);
        expect_success(ons_shard_order_make(&p, arena, &order), seed);
        expect_success(ons_work_reorder(&w.work, order.node_at, arena, &work), seed);
        p.work = &work;
        expect_success(ons_shard_cutting_make(&p, &order, NULL, NULL, arena, &cutting), seed);
        expect_success(ons_shard_cuts_fastest(&cutting, &fastest), seed);
        cuts[0] = order.body_first;
        cuts[devices] = order.body_end;
        double least = search_all(&p, &order, cuts, 1);
        cr_expect_float_eq(fastest, least, 1e-9 * least, "seed %lu: %g, and %g can be", seed, fastest, least);
        expect_success(ons_shard_cuts_find(&cutting, fastest * 1.05, found_cuts, &found), seed);
        cr_assert(found, "seed %lu", seed);
        for (uint32_t filling = 0; filling < ONS_SHARD_FILLINGS; ++filling)
            cr_expect_leq(slowest_device(&p, &order, found_cuts + (size_t)filling * (devices + 1)),
                          fastest * 1.05 * (1 + 1e-12), "seed %lu", seed);
    }
}

/* Whatever the search makes of orders and beginnings, the lists can run. */
Test(shard_stages, all_ways_make_lists_that_run) {
    ons_shard_way *ways;
    uint32_t count;
    expect_success(ons_shard_ways_list(arena, &ways, &count), 0);
    for (uint64_t seed = 1; seed <= 10; ++seed) {
        uint32_t devices, cuts[8], first[64];
        const shard_model m = random_model(seed, &devices);
        shard_work w;
        ons_shard_order order;
        ons_workload work;
        ons_placed_plan placed;
        expect_success(shard_work_make(&m, arena, &w), seed);
        ons_planning_problem p = shard_work_pose(&w, devices, 1 + (uint32_t)(seed * 3));
        if (seed % 2 == 0) p.link_bandwidth = 1e8;
        expect_success(ons_shard_order_make(&p, arena, &order), seed);
        expect_success(ons_work_reorder(&w.work, order.node_at, arena, &work), seed);
        p.work = &work;
        for (uint32_t i = 0; i < devices; ++i) cuts[i] = order.body_first + i;
        ons_shard_cuts_place(&order, cuts, first);
        expect_success(ons_shard_placed_plan(&p, &order, first, arena, &placed), seed);
        for (uint32_t i = 0; i < count; ++i) {
            ons_schedule schedule;
            uint64_t tried = 0;
            expect_success(ons_shard_schedule(&placed, &ways[i], arena, &schedule, &tried), seed);
            expect_success(ons_placed_lists_check(&placed, schedule.lists, arena), seed);
        }
    }
}

/* ------------------------------------------------------------------------------------------------------------ steps */

Test(shard_stages, a_long_step_is_near_what_its_slowest_device_computes) {
    for (uint64_t seed = 1; seed <= 9; ++seed) {
        uint32_t devices;
        const shard_model m = random_model(seed, &devices);
        shard_work w;
        ons_shard_stages found;
        expect_success(shard_work_make(&m, arena, &w), seed);
        ons_planning_problem p = shard_work_pose(&w, devices, 16 * devices);
        if (seed % 3 == 0) {
            p.link_bandwidth = 1e10;
            p.link_latency = 1e-6;
        }
        expect_success(ons_shard_stages_search(&p, arena, &found), seed);
        cr_assert(found.planned.partition.feasible, "seed %lu", seed);
        double least = busiest_seconds(&found.planned);
        cr_expect_geq(found.step_seconds, least * (1 - 1e-9), "seed %lu", seed);
        cr_expect_leq(found.step_seconds, 1.15 * least, "seed %lu, %u devices: %g times what is computed", seed,
                      devices, found.step_seconds / least);
        cr_expect_eq(found.step_seconds, simulate(&found.planned, seed), "seed %lu", seed);
        check_file(&found.planned, seed);
    }
}

/* The head takes three times as long as a device's part of the body: whoever has it whole waits for nobody, and
 * everybody for it. */
Test(shard_stages, a_large_head_trains_faster_in_shards) {
    for (uint32_t devices = 2; devices <= 6; ++devices) {
        shard_model m = shard_language_model(devices, devices);
        shard_work w, whole;
        m.layers = 4 * devices;
        m.head_seconds = 12 * m.layer_seconds;
        expect_success(shard_work_make(&m, arena, &w), devices);
        m.shards = 1;
        expect_success(shard_work_make(&m, arena, &whole), devices);
        const ons_planning_problem p = shard_work_pose(&w, devices, 4 * devices),
                                   q = shard_work_pose(&whole, devices, 4 * devices);
        const ons_planned sharded = plan(&p, devices), plain = plan(&q, devices);
        double fast = simulate(&sharded, devices), slow = simulate(&plain, devices);
        cr_expect_lt(fast, 0.95 * slow, "%u devices: %g s in shards, %g s whole", devices, fast, slow);
    }
}

/* ----------------------------------------------------------------------------------------------------------- memory */

static int64_t fullest_bytes(const ons_planned *planned, uint64_t seed) {
    int64_t *bytes, most = 0;
    expect_success(ons_planned_sum_devices(planned, arena, &bytes), seed);
    for (uint32_t i = 0; i < planned->problem.schedule->devices; ++i)
        if (bytes[i] > most) most = bytes[i];
    return most;
}

/* Stages of a device keep its memory together; where they decide nothing fits, what would do does. */
Test(shard_stages, keep_the_memory_of_their_devices) {
    uint32_t decided = 0, refused = 0;
    for (uint64_t seed = 1; seed <= 5; ++seed) {
        uint32_t devices;
        const shard_model m = random_model(seed, &devices);
        shard_work w;
        expect_success(shard_work_make(&m, arena, &w), seed);
        ons_planning_problem p = shard_work_pose(&w, devices, 6);
        p.host_bandwidth = seed % 2 == 0 ? 1e9 : 0;
        int64_t whole = fullest_bytes((ons_planned[]){plan(&p, seed)}, seed);
        for (int percent = 90; percent > 10; percent -= 35) {
            p.capacity_bytes = whole / 100 * percent;
            ons_planned planned = plan(&p, seed);
            for (int i = 0; !planned.partition.feasible; ++i) {
                cr_assert_lt(i, 50, "seed %lu, %d %%", seed, percent);
                cr_assert_gt(planned.partition.least_bytes, p.capacity_bytes, "seed %lu, %d %%", seed, percent);
                ++refused;
                p.capacity_bytes = planned.partition.least_bytes;
                planned = plan(&p, seed);
            }
            cr_expect_leq(fullest_bytes(&planned, seed), p.capacity_bytes, "seed %lu, %d %%", seed, percent);
            for (uint32_t i = 0; i < planned.partition.stages; ++i) decided += planned.solutions[i].decision_count;
            check_file(&planned, seed);
        }
    }
    cr_expect_gt(decided, 10);
    cr_expect_gt(refused, 2);
}

/* What does not fit can be asked for again with what would do. */
Test(shard_stages, can_be_asked_again_with_what_would_do) {
    shard_model m = shard_language_model(4, 8);
    shard_work w;
    expect_success(shard_work_make(&m, arena, &w), 8);
    ons_planning_problem p = shard_work_pose(&w, 4, 8);
    p.capacity_bytes = 1;
    const ons_planned none = plan(&p, 8);
    cr_assert(!none.partition.feasible);
    ons_planning_problem again = none.problem;
    again.capacity_bytes = none.partition.least_bytes;
    const ons_planned planned = plan(&again, 8);
    cr_expect(planned.partition.feasible || planned.partition.least_bytes > none.partition.least_bytes);
}
