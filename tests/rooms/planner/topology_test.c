/* Devices in nodes, with a link of their own between nodes: which link a message takes, and what plans make of it. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "planner/partition/cuts.h"
#include "planner/partition/link.h"
#include "planner/partition/reduce.h"
#include "planner/plan/plan_replay.h"
#include "planner/search/planner.h"
#include "planner/search/planner_search.h"
#include "tests/rooms/planner/loads.h"
#include "tests/rooms/planner/planning_case.h"
#include "tests/rooms/planner/random_pipeline.h"

enum { CASES = 200 };

static ons_arena *arena;
static void make_arena(void) { arena = ons_arena_new(); }
static void free_arena(void) { ons_arena_free(arena); }

TestSuite(topology, .init = make_arena, .fini = free_arena);

static void expect_success(ons_status *status) {
    cr_assert(status == NULL, "%s", status != NULL ? ons_status_get_message(status) : "");
}

static double step(const ons_planning_problem *p, const uint32_t *first, const ons_stage_solution *solutions) {
    ons_pipeline_forecast f;
    ons_pipeline_setup setup = {.problem = p, .first = first, .solutions = solutions};
    expect_success(ons_pipeline_simulate(&setup, arena, &f));
    double seconds = f.iteration_seconds;
    ons_simulation_free(f.simulation);
    return seconds;
}

static void set_network(ons_planning_problem *p, int64_t node_devices, double bandwidth, double latency) {
    p->node_devices = node_devices;
    p->network_bandwidth = bandwidth;
    p->network_latency = latency;
}

/* Any two devices of any replica are looked up in nodes that are filled one after the other. */
Test(topology, a_link_crosses_nodes_where_any_replicas_devices_do) {
    for (uint64_t seed = 1; seed <= CASES; ++seed) {
        random_source random = {seed};
        uint32_t devices = 1 + random_below(&random, 12), replicas = 1 + random_below(&random, 9);
        ons_planning_problem p = {.pipeline = {&ons_generator_one_f_one_b, devices, 4, 0, replicas},
                                  .link_bandwidth = 2};
        set_network(&p, 1 + random_below(&random, 12), 1, 0);
        bool any_group = false;
        for (uint32_t a = 0; a < devices; ++a) {
            for (uint32_t b = 0; b < devices; ++b) {
                bool crosses = false;
                for (uint32_t r = 0; r < replicas; ++r)
                    crosses |= (r * devices + a) / p.node_devices != (r * devices + b) / p.node_devices;
                cr_assert_eq(ons_link_between(&p, a, b).bandwidth == 1, crosses, "seed %llu, devices %u and %u",
                             (unsigned long long)seed, a, b);
            }
            any_group |= a / p.node_devices != ((replicas - 1) * devices + a) / p.node_devices;
        }
        if (replicas > 1)
            cr_expect_eq(ons_link_of_replicas(&p).bandwidth == 1, any_group, "seed %llu", (unsigned long long)seed);
    }
}

/* What searches go by: the estimate of a step, and the slowest stage or transfer. */
static void expect_estimates(ons_planning_problem *p, uint32_t *first, double seconds, uint64_t seed) {
    ons_schedule schedule;
    ons_step_walk walk;
    ons_step_stage times[RANDOM_PIPELINE_STAGES];
    ons_stage_costs *costs;
    uint32_t stages = p->pipeline.stages;
    ons_partition partition = {.stages = stages, .first = first};
    double slowest = 0;
    expect_success(ons_schedule_make(&p->pipeline, arena, &schedule));
    p->schedule = &schedule;
    expect_success(ons_step_walk_make(&p->pipeline, NULL, arena, &walk));
    for (uint32_t i = 0; i < stages; ++i) times[i] = ons_cuts_times(p, first, i, 0);
    double estimate = ons_step_estimate(&walk, times);
    cr_expect_float_eq(estimate, seconds, 1e-9 * seconds, "seed %llu: estimated %g, simulated %g",
                       (unsigned long long)seed, estimate, seconds);
    expect_success(ons_stage_costs_new(p, &costs));
    expect_success(ons_partition_evaluate(costs, &partition));
    for (uint32_t i = 0; i < stages; ++i) {
        slowest = fmax(slowest, ons_work_seconds(p->work, first[i], first[i + 1]));
        slowest = fmax(slowest, fmax(times[i].arrive, times[i].back));
    }
    cr_expect_float_eq(partition.bottleneck_seconds, slowest, 1e-9 * slowest, "seed %llu", (unsigned long long)seed);
    ons_stage_costs_free(costs);
    p->schedule = NULL;
}

/* The way there and back of one micro-batch passes every cut over its own link. */
Test(topology, one_micro_batch_takes_the_links_that_are_on_its_way) {
    enum { STAGES = 6, NODE = 2 };
    for (uint64_t seed = 1; seed <= CASES; ++seed) {
        random_source random = {seed};
        ons_workload work;
        uint32_t first[STAGES + 1];
        expect_success(random_pipeline_work(seed, true, STAGES + random_below(&random, 20), arena, &work));
        random_pipeline_cut(&random, work.node_count, STAGES, first);
        ons_planning_problem p = {.work = &work, .pipeline = {&ons_generator_one_f_one_b, STAGES, 1, 0, 1}};
        double before = step(&p, first, NULL), transfers = 0;
        p.link_bandwidth = 1e9;
        p.link_latency = 1e-6;
        set_network(&p, NODE, 1e7, 1e-4);
        for (uint32_t i = 1; i < STAGES; ++i) {
            bool crosses = i % NODE == 0;
            double bandwidth = crosses ? 1e7 : 1e9, latency = crosses ? 1e-4 : 1e-6;
            int64_t there = ons_work_cut_bytes(&work, first[i]), back = ons_work_cut_gradient_bytes(&work, first[i]);
            transfers += (double)(there + back) / bandwidth + (there > 0 ? latency : 0) + (back > 0 ? latency : 0);
        }
        double seconds = step(&p, first, NULL);
        /* The last update is the first stage's, or one that takes longer: updates alone may hide some of the way. */
        cr_expect(seconds <= before + transfers + 1e-9 * seconds && seconds >= transfers, "seed %llu: %g of %g + %g",
                  (unsigned long long)seed, seconds, before, transfers);
        double updates = 0;
        for (uint32_t i = 0; i < STAGES; ++i)
            updates = fmax(updates, ons_work_update_seconds(&work, first[i], first[i + 1]));
        cr_expect(seconds >= before + transfers - updates - 1e-9 * seconds, "seed %llu: %g, not %g + %g",
                  (unsigned long long)seed, seconds, before, transfers);
        expect_estimates(&p, first, seconds, seed);
    }
}

Test(topology, one_node_is_as_none_and_nodes_of_one_device_have_the_network_alone) {
    for (uint64_t seed = 1; seed <= CASES; ++seed) {
        random_pipeline r;
        expect_success(random_pipeline_make(seed, arena, &r));
        const ons_stage_solution *solutions = r.decided ? r.solutions : NULL;
        ons_planning_problem whole = r.problem, apart = r.problem;
        double plain = step(&r.problem, r.first, solutions);
        set_network(&whole, RANDOM_PIPELINE_STAGES, 1, 100);
        cr_expect(step(&whole, r.first, solutions) == plain, "seed %llu", (unsigned long long)seed);
        set_network(&apart, 1, r.problem.link_bandwidth, r.problem.link_latency);
        apart.network_eager_bytes = r.problem.link_eager_bytes;
        apart.link_bandwidth = 1;
        apart.link_latency = 100;
        apart.link_eager_bytes = 0;
        cr_expect(step(&apart, r.first, solutions) == plain, "seed %llu", (unsigned long long)seed);
    }
}

Test(topology, sums_over_replicas_take_the_network_where_replicas_are_in_several_nodes) {
    ons_workload work;
    random_work_options options = random_work_graph(7, 20);
    expect_success(random_work_make(&options, arena, &work));
    ons_planning_problem p = {.work = &work, .pipeline = {&ons_generator_one_f_one_b, 2, 2, 0, 4}};
    p.link_bandwidth = 1e12;
    double fast = ons_reduce_seconds(&p, 0, work.node_count);
    set_network(&p, 8, 1e3, 0);
    cr_expect(fast > 0 && ons_reduce_seconds(&p, 0, work.node_count) == fast, "eight devices in a node");
    p.node_devices = 4;
    cr_expect_gt(ons_reduce_seconds(&p, 0, work.node_count), 1000 * fast);
}

/* What is searched for with the network in mind is faster on it than what was searched for without. */
Test(topology, plans_know_of_the_network) {
    double blind = 0, aware = 0;
    uint32_t better = 0, worse = 0;
    for (uint64_t seed = 1; seed <= 40; ++seed) {
        planning_case options = {.seed = seed,
                                 .least_nodes = 20,
                                 .most_nodes = 40,
                                 .least_stages = 4,
                                 .most_stages = 4,
                                 .sizes = SIZES_HEAVY_TAILED,
                                 .chains = true,
                                 .free_links = true,
                                 .memory = NULL};
        ons_planning_problem p;
        ons_planned planned[2];
        double seconds[2];
        expect_success(planning_case_make(&options, arena, &p));
        p.pipeline.generator = &ons_generator_one_f_one_b;
        p.memory = ons_memory_strategy_find("capuchin");
        p.capacity_bytes = 0;
        int64_t bytes = 0;
        for (uint32_t i = 1; i < p.work->node_count; ++i) bytes += ons_work_cut_bytes(p.work, i);
        double mean = (double)bytes / p.work->node_count;
        p.link_bandwidth = 100 * mean / ons_work_seconds(p.work, 0, p.work->node_count);
        ons_planning_problem with = p;
        set_network(&with, 2, p.link_bandwidth / 20, 0);
        const ons_partition_strategy *strategy = ons_partition_strategy_find("auto");
        expect_success(ons_planner_search(&p, strategy, arena, &planned[0]));
        expect_success(ons_planner_search(&with, strategy, arena, &planned[1]));
        for (int i = 0; i < 2; ++i) {
            ons_planning_problem on = planned[i].problem;
            on.node_devices = with.node_devices;
            on.network_bandwidth = with.network_bandwidth;
            seconds[i] = step(&on, planned[i].partition.first, planned[i].solutions);
        }
        blind += log(seconds[0]);
        aware += log(seconds[1]);
        better += seconds[1] < seconds[0] * (1 - 1e-9);
        worse += seconds[1] > seconds[0] * (1 + 1e-9);
    }
    cr_expect(better > 3 * worse && aware < blind, "%u better, %u worse, %.4f times as fast", better, worse,
              exp((blind - aware) / 40));
}

/* A plan's file says the nodes, and is replayed with them. */
Test(topology, a_plan_keeps_its_nodes) {
    planning_case options = {.seed = 5,
                             .least_nodes = 20,
                             .most_nodes = 30,
                             .least_stages = 4,
                             .most_stages = 4,
                             .chains = true,
                             .free_links = true};
    ons_planning_problem p;
    ons_planned planned;
    ons_plan plan = {.subject = {.model = "random.onnx", .batch = 4, .micro_batches = 4, .replicas = 1},
                     .partition = "auto"},
             read;
    ons_pipeline_forecast f;
    char *text, *again;
    expect_success(planning_case_make(&options, arena, &p));
    p.pipeline = (ons_pipeline){&ons_generator_one_f_one_b, 4, 4, 0, 1};
    p.memory = ons_memory_strategy_find("capuchin");
    p.capacity_bytes = 0;
    p.link_bandwidth = 1e9;
    set_network(&p, 2, 1e6, 1e-3);
    expect_success(ons_planner_search(&p, ons_partition_strategy_find("auto"), arena, &planned));
    expect_success(ons_planner_fill(&planned, arena, &plan));
    cr_expect_eq(plan.node_devices, 2);
    cr_expect(plan.step_seconds == step(&planned.problem, planned.partition.first, planned.solutions));
    plan.network_eager_bytes = 65473;
    expect_success(ons_plan_print(&plan, &text));
    expect_success(ons_plan_parse(text, strlen(text), arena, &read));
    cr_expect(read.node_devices == 2 && read.network_bandwidth == 1e6 && read.network_latency == 1e-3 &&
              read.network_eager_bytes == 65473);
    expect_success(ons_plan_print(&read, &again));
    cr_expect_str_eq(again, text);
    free(again);
    strstr(text, "node_devices")[0] = 'm'; /* then there are no nodes, and no network either */
    expect_success(ons_plan_parse(text, strlen(text), arena, &read));
    cr_expect(read.node_devices == 0 && read.network_bandwidth == 0);
    free(text);
    plan.node_devices = 0;
    expect_success(ons_plan_replay(&plan, arena, &f));
    cr_expect_lt(f.iteration_seconds, plan.step_seconds);
    ons_simulation_free(f.simulation);
}
