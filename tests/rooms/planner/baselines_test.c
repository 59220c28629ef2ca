/* Baseline partitioners against trying every split of small workloads, and what each of them promises. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "planner/cost/cost_file.h"
#include "planner/partition/orders.h"
#include "planner/workload/zero.h"
#include "tests/rooms/planner/loads.h"
#include "tests/rooms/planner/random_work.h"

enum { CASES = 150, MOST_STAGES = 6 };

static ons_arena *arena;

static void make_arena(void) { arena = ons_arena_new(); }
static void free_arena(void) { ons_arena_free(arena); }

TestSuite(baselines, .init = make_arena, .fini = free_arena);

static void expect_success(ons_status *status) {
    cr_assert(status == NULL, "%s", status != NULL ? ons_status_get_message(status) : "");
}

static const char *const names[] = {"uniform",
                                    "gpipe",
                                    "gpipe-nodes",
                                    "pipedream",
                                    "pipedream-nodes",
                                    "vpipe",
                                    "vpipe-nodes",
                                    "compute-balanced",
                                    "compute-balanced-nodes",
                                    "memory-balanced",
                                    "memory-balanced-nodes"};
enum { NAMES = sizeof names / sizeof *names };

static bool is_at_layers(const char *name) { return strcmp(name, "uniform") != 0 && strstr(name, "-nodes") == NULL; }

static ons_partition split(const ons_planning_problem *problem, const char *name) {
    ons_stage_costs *costs;
    ons_partition partition;
    const ons_partition_strategy *strategy = ons_partition_strategy_find(name);
    cr_assert_not_null(strategy, "there is no '%s'", name);
    expect_success(ons_stage_costs_new(problem, &costs));
    ons_status *status = strategy->search(costs, arena, &partition);
    ons_stage_costs_free(costs);
    expect_success(status);
    return partition;
}

static ons_planning_problem make_problem(const ons_workload *work, uint64_t seed) {
    random_source random = {seed};
    ons_planning_problem p = {.work = work};
    p.pipeline.generator = ons_generators[seed % 3];
    p.pipeline.stages = 2 + random_below(&random, MOST_STAGES - 1);
    p.pipeline.micro_batches = 1 + random_below(&random, 8);
    if (seed % 4 != 0) p.link_bandwidth = random_between(&random, 1e7, 1e9, true);
    p.link_latency = seed % 5 == 0 ? 1e-5 : 0;
    return p;
}

/* ----------------------------------------------------------------------------------------------- trying every split */

typedef struct trial {
    const ons_planning_problem *problem;
    const ons_stage_costs *costs;
    bool layers;
    uint32_t first[MOST_STAGES + 1];
    double least_variance, least_bottleneck;
    int64_t least_fullest;
} trial;

static double squares_of(const ons_planning_problem *p, const uint32_t *first) {
    double sum = 0;
    for (uint32_t i = 0; i < p->pipeline.stages; ++i) {
        double seconds = ons_work_seconds(p->work, first[i], first[i + 1]);
        sum += seconds * seconds;
    }
    return sum;
}

static double bottleneck_of(const ons_planning_problem *p, const ons_stage_costs *costs, const uint32_t *first) {
    double slowest = 0;
    for (uint32_t i = 0; i < p->pipeline.stages; ++i)
        slowest = fmax(slowest, fmax(ons_work_seconds(p->work, first[i], first[i + 1]),
                                     ons_stage_costs_transfer(costs, first[i])));
    return slowest;
}

static int64_t fullest_of(const ons_planning_problem *p, const uint32_t *first) {
    int64_t fullest = 0;
    for (uint32_t i = 0; i < p->pipeline.stages; ++i) {
        ons_stage_memory memory;
        ons_stage_load load = load_of_stage(&p->pipeline, i);
        ons_work_stage_memory(p->work, first[i], first[i + 1], &load, &memory);
        fullest = memory.total > fullest ? memory.total : fullest;
    }
    return fullest;
}

static void try_all(trial *t, uint32_t stage) {
    const ons_workload *work = t->problem->work;
    if (stage == t->problem->pipeline.stages) {
        t->first[stage] = work->node_count;
        t->least_variance = fmin(t->least_variance, squares_of(t->problem, t->first));
        t->least_bottleneck = fmin(t->least_bottleneck, bottleneck_of(t->problem, t->costs, t->first));
        int64_t fullest = fullest_of(t->problem, t->first);
        t->least_fullest = fullest < t->least_fullest ? fullest : t->least_fullest;
        return;
    }
    for (uint32_t cut = t->first[stage - 1] + 1; cut < work->node_count; ++cut) {
        if (t->layers && work->nodes[cut].layer == work->nodes[cut - 1].layer) continue;
        t->first[stage] = cut;
        try_all(t, stage + 1);
    }
}

static trial try_every_split(const ons_planning_problem *problem, const ons_stage_costs *costs, bool layers) {
    trial t = {.problem = problem, .costs = costs, .layers = layers, .least_variance = INFINITY};
    t.least_bottleneck = INFINITY;
    t.least_fullest = INT64_MAX;
    try_all(&t, 1);
    return t;
}

Test(baselines, reach_what_they_aim_at) {
    int fuller = 0;
    for (uint64_t seed = 1; seed <= CASES; ++seed) {
        bool layers = seed % 2 == 0;
        random_work_options options = random_work_graph(seed, layers ? 4 * (MOST_STAGES + 1) + (uint32_t)seed % 4 : 12);
        options.heavy_tailed = seed % 3 == 0;
        ons_workload work;
        ons_stage_costs *costs;
        expect_success(random_work_make(&options, arena, &work));
        ons_planning_problem p = make_problem(&work, seed);
        expect_success(ons_stage_costs_new(&p, &costs));
        trial best = try_every_split(&p, costs, layers);
        const uint32_t *gpipe = split(&p, layers ? "gpipe" : "gpipe-nodes").first;
        cr_expect(squares_of(&p, gpipe) <= best.least_variance * (1 + 1e-12), "%s: gpipe", work.name);
        ons_partition pipedream = split(&p, layers ? "pipedream" : "pipedream-nodes");
        cr_expect(fabs(pipedream.bottleneck_seconds - best.least_bottleneck) <= 1e-12 * best.least_bottleneck,
                  "%s: pipedream has %g, not %g", work.name, pipedream.bottleneck_seconds, best.least_bottleneck);
        const uint32_t *memory = split(&p, layers ? "memory-balanced" : "memory-balanced-nodes").first;
        int64_t fullest = fullest_of(&p, memory);
        cr_expect(fullest >= best.least_fullest, "%s: memory-balanced", work.name);
        fuller += (double)fullest > 1.001 * (double)best.least_fullest;
        ons_stage_costs_free(costs);
    }
    /* What arrives over a cut counts for a stage's memory, so filling up is nearly, not always, best. */
    cr_expect(fuller <= CASES / 5, "memory-balanced missed the least in %d of %d", fuller, CASES);
}

Test(baselines, every_split_covers_all_nodes_and_keeps_its_grain) {
    for (uint64_t seed = 1; seed <= CASES; ++seed) {
        random_work_options options = random_work_graph(seed, 30 + (uint32_t)seed);
        ons_workload work;
        expect_success(random_work_make(&options, arena, &work));
        ons_planning_problem p = make_problem(&work, seed);
        if (seed % 2 == 0) p.capacity_bytes = 1 << (10 + seed % 10); /* for some, nothing fits */
        for (int i = 0; i < NAMES; ++i) {
            ons_partition found = split(&p, names[i]);
            cr_assert(found.stages == p.pipeline.stages && found.first[0] == 0 &&
                          found.first[found.stages] == work.node_count,
                      "%s: %s", work.name, names[i]);
            for (uint32_t s = 0; s < found.stages; ++s) {
                uint32_t first = found.first[s];
                cr_assert(found.first[s + 1] > first, "%s: %s: stage %u is empty", work.name, names[i], s);
                cr_assert(first == 0 || !is_at_layers(names[i]) ||
                              work.nodes[first].layer != work.nodes[first - 1].layer,
                          "%s: %s: a layer is cut at %u", work.name, names[i], first);
            }
            cr_expect(found.feasible == (p.capacity_bytes == 0 || fullest_of(&p, found.first) <= p.capacity_bytes),
                      "%s: %s", work.name, names[i]);
            cr_expect(found.feasible || found.least_bytes == fullest_of(&p, found.first), "%s: %s", work.name,
                      names[i]);
        }
    }
}

Test(baselines, uniform_and_compute_balanced_by_hand) {
    ons_workload work;
    expect_success(uniform_work_make(10, arena, &work));
    ons_planning_problem p = {.work = &work, .pipeline = {&ons_generator_one_f_one_b, 4, 4, 0}};
    const uint32_t *uniform = split(&p, "uniform").first;
    const uint32_t even[] = {0, 2, 5, 7, 10};
    for (int i = 0; i <= 4; ++i) cr_expect_eq(uniform[i], even[i]);
    for (uint32_t i = 0; i < 10; ++i)
        work.nodes[i].forward_seconds = i == 0 ? 0.018 : 0.001; /* 20 ms, then 3 ms each */
    expect_success(ons_workload_finish(&work, arena));
    const uint32_t *balanced = split(&p, "compute-balanced-nodes").first;
    const uint32_t aims[] = {0, 1, 2, 6, 10}; /* 20, 23 and 35 ms for 11.75, 23.5 and 35.25 */
    for (int i = 0; i <= 4; ++i) cr_expect_eq(balanced[i], aims[i], "cut %d is %u", i, balanced[i]);
}

Test(baselines, layers_fewer_than_stages_are_refused) {
    random_work_options options = random_work_graph(1, 12); /* three layers */
    ons_workload work;
    ons_stage_costs *costs;
    ons_partition partition;
    expect_success(random_work_make(&options, arena, &work));
    ons_planning_problem p = {.work = &work, .pipeline = {&ons_generator_one_f_one_b, 4, 4, 0}};
    expect_success(ons_stage_costs_new(&p, &costs));
    for (int i = 0; i < NAMES; ++i) {
        ons_status *status = ons_partition_strategy_find(names[i])->search(costs, arena, &partition);
        cr_expect_eq(status != NULL, is_at_layers(names[i]), "%s", names[i]);
        if (status != NULL) cr_expect(strstr(ons_status_get_message(status), "more than the model's 3 layers") != NULL);
        ons_status_free(status);
    }
    ons_stage_costs_free(costs);
}

/* Bytes over the cap, then the slowest: what vPipe compares. */
static bool is_better(const ons_planning_problem *p, const ons_stage_costs *costs, const uint32_t *a,
                      const uint32_t *b) {
    int64_t excess[2] = {0, 0};
    for (int side = 0; side < 2; ++side)
        for (uint32_t i = 0; i < p->pipeline.stages; ++i) {
            const uint32_t *first = side == 0 ? a : b;
            ons_stage_memory memory;
            ons_stage_load load = load_of_stage(&p->pipeline, i);
            ons_work_stage_memory(p->work, first[i], first[i + 1], &load, &memory);
            if (memory.total > p->capacity_bytes) excess[side] += memory.total - p->capacity_bytes;
        }
    if (excess[0] != excess[1]) return excess[0] < excess[1];
    return bottleneck_of(p, costs, a) < bottleneck_of(p, costs, b) * (1 - 1e-9);
}

Test(baselines, vpipe_ends_where_no_move_helps) {
    for (uint64_t seed = 1; seed <= CASES; ++seed) {
        random_work_options options = random_work_graph(seed, 40);
        ons_workload work;
        ons_stage_costs *costs;
        expect_success(random_work_make(&options, arena, &work));
        ons_planning_problem p = make_problem(&work, seed);
        const uint32_t *start = split(&p, "gpipe-nodes").first;
        p.capacity_bytes = fullest_of(&p, start) * 3 / 4;
        ons_partition found = split(&p, "vpipe-nodes");
        expect_success(ons_stage_costs_new(&p, &costs));
        cr_expect(!is_better(&p, costs, start, found.first), "%s: worse than its start", work.name);
        for (uint32_t border = 1; border < found.stages; ++border)
            for (int by = -1; by <= 1; by += 2) {
                uint32_t moved[MOST_STAGES + 1];
                memcpy(moved, found.first, (found.stages + 1) * sizeof *moved);
                moved[border] += (uint32_t)by;
                if (moved[border] == moved[border - 1] || moved[border] == moved[border + 1]) continue;
                cr_expect(!is_better(&p, costs, moved, found.first), "%s: border %u", work.name, border);
            }
        ons_stage_costs_free(costs);
    }
}

/* PipeDream's planner and ours of the same name agree where the graph leaves no choice of order. */
Test(baselines, pipedreams_figures) {
    static const struct {
        const char *file;
        uint32_t stages;
        double seconds;
    } figures[] = {{"alexnet", 2, .043075},     {"alexnet", 4, .028721},    {"gnmt", 4, .025868},
                   {"gnmt", 8, .019032},        {"resnet50", 2, .221933},   {"resnet50", 4, .111497},
                   {"densenet121", 4, .081985}, {"densenet121", 8, .041615}};
    for (size_t i = 0; i < sizeof figures / sizeof *figures; ++i) {
        ons_workload work;
        const char *path = ons_arena_format(arena, "examples/data/profiles/pipedream/%s.txt", figures[i].file);
        expect_success(ons_cost_file_load(path, NULL, arena, &work));
        ons_planning_problem p = {.work = &work, .pipeline = {&ons_generator_one_f_one_b, figures[i].stages, 8, 0}};
        double found = split(&p, "pipedream").bottleneck_seconds;
        cr_expect(fabs(found - figures[i].seconds) < 1e-9, "%s, %u stages: %.9f", path, figures[i].stages, found);
    }
}

/* ----------------------------------------------------------------------------------------------------------- orders */

Test(baselines, best_order_is_no_worse_than_any) {
    for (uint64_t seed = 1; seed <= 40; ++seed) {
        random_work_options options = random_work_graph(seed, 60);
        options.branches = options.skips = 0.5;
        ons_workload work;
        expect_success(random_work_make(&options, arena, &work));
        ons_planning_problem p = make_problem(&work, seed);
        if (seed % 2 == 0)
            p.capacity_bytes = fullest_of(&p, split(&p, "memory-balanced-nodes").first) * (int64_t)(seed % 3);
        const ons_partition_strategy *strategy = ons_partition_strategy_find("pipedream-nodes");
        ons_ordered_partition best;
        expect_success(ons_partition_best_order(&p, strategy, arena, &best));
        cr_assert_eq(best.partition.first[best.partition.stages], work.node_count);
        for (ons_order_kind order = 0; order < ONS_ORDER_COUNT; ++order) {
            uint32_t *nodes;
            ons_workload moved;
            expect_success(ons_work_order(&work, order, p.pipeline.stages, arena, &nodes));
            expect_success(ons_work_reorder(&work, nodes, arena, &moved));
            ons_planning_problem other = p;
            other.work = &moved;
            ons_partition found = split(&other, "pipedream-nodes");
            cr_expect(best.partition.feasible || !found.feasible, "%s: %s fits", work.name, ons_order_name(order));
            if (best.partition.feasible && found.feasible)
                cr_expect(best.partition.bottleneck_seconds <= found.bottleneck_seconds * (1 + 1e-9), "%s: %s",
                          work.name, ons_order_name(order));
            if (!best.partition.feasible)
                cr_expect_leq(best.partition.least_bytes, found.least_bytes, "%s: %s", work.name,
                              ons_order_name(order));
        }
    }
}

/* ------------------------------------------------------------------------------------------------------------- ZeRO */

Test(baselines, zero_by_hand) {
    ons_workload work;
    ons_stage_memory whole;
    ons_zero_memory zero;
    expect_success(uniform_work_make(10, arena, &work)); /* weights of 100 + 100 + 200 bytes; layers of four nodes */
    ons_work_stage_memory(&work, 0, 10, &(ons_stage_load){.in_flight = 1, .versions = 1, .accumulates = true}, &whole);
    ons_zero_memory_find(&work, 1, 1, &zero);
    cr_expect_eq(zero.total, whole.weights + whole.gradients + whole.states + whole.peak);
    ons_zero_memory_find(&work, 1, 8, &zero);
    cr_expect(zero.weights == 1000 && zero.gradients == 1000 && zero.states == 250 && zero.gathered == 0);
    ons_zero_memory_find(&work, 2, 8, &zero);
    cr_expect(zero.weights == 1000 && zero.gradients == 125 && zero.states == 250 && zero.gathered == 400);
    ons_zero_memory_find(&work, 3, 3, &zero);
    cr_expect(zero.weights == 334 && zero.gradients == 334 && zero.states == 667 && zero.gathered == 800);
    cr_expect_eq(zero.activations, whole.peak);
    cr_expect_eq(zero.total, zero.weights + zero.gradients + zero.states + zero.gathered + zero.activations);
}

/* A weight of two nodes in one layer is gathered once; in two layers, for each. */
Test(baselines, zero_gathers_tied_weights_once) {
    static const uint32_t users[] = {0, 3, 5};
    ons_workload work;
    ons_zero_memory zero;
    expect_success(uniform_work_make(8, arena, &work));
    work.weights[0] = (ons_work_weight){"tied", 10000, 10000, 0, users, 3};
    expect_success(ons_workload_finish(&work, arena));
    ons_zero_memory_find(&work, 3, 100, &zero);
    cr_expect_eq(zero.gathered, 20000 + 800, "%lld", (long long)zero.gathered);
}
