/* AutoPipe's planner: its simulator and master stage, its splits, its choice of stages and replicas; DAPPLE's and
 * Piper's planners on chains small enough to look through. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "planner/partition/link.h"
#include "planner/partition/master_stage.h"
#include "planner/partition/step_estimate.h"
#include "planner/search/degrees.h"
#include "planner/search/layer_chain.h"
#include "planner/simulate/pipeline_simulation.h"
#include "tests/rooms/planner/random_work.h"
#include "tests/rooms/planner/transformer_work.h"

enum { MOST_STAGES = 8, MOST_LAYERS = 6 };

static ons_arena *arena;

static void make_arena(void) { arena = ons_arena_new(); }
static void free_arena(void) { ons_arena_free(arena); }

TestSuite(autopipe, .init = make_arena, .fini = free_arena);

static void expect_success(ons_status *status) {
    cr_assert(status == NULL, "%s", status != NULL ? ons_status_get_message(status) : "");
}

static bool near(double a, double b) { return fabs(a - b) <= 1e-9 * (fabs(a) + fabs(b)); }

/* ----------------------------------------------------------------------------------------------------- master stage */

static double find_master(const ons_master_stage_times *times, uint32_t stages, uint32_t m, uint32_t *master) {
    ons_master_stage_finder finder;
    expect_success(ons_master_stage_finder_make(stages, m, arena, &finder));
    return ons_master_stage_find(&finder, times, master);
}

static double estimate_step(const ons_master_stage_times *times, uint32_t stages, uint32_t m) {
    ons_pipeline p = {&ons_generator_one_f_one_b, stages, m, stages, 1};
    ons_step_stage s[MOST_STAGES] = {0};
    ons_step_walk walk;
    for (uint32_t i = 0; i < stages; ++i) {
        s[i].forward = times[i].forward;
        s[i].backward = times[i].backward;
        s[i].arrive = s[i].travel = times[i].arrive; /* links serve what comes next at once */
        s[i].back = times[i].arrive;
    }
    expect_success(ons_step_walk_make(&p, NULL, arena, &walk));
    return ons_step_estimate(&walk, s);
}

Test(autopipe, the_planners_step_is_that_of_1f1b) {
    for (uint64_t seed = 1; seed <= 500; ++seed) {
        random_source random = {seed};
        ons_master_stage_times t[MOST_STAGES];
        uint32_t stages = 1 + random_below(&random, MOST_STAGES), m = 1 + random_below(&random, 20), master;
        for (uint32_t i = 0; i < stages; ++i) {
            t[i] = (ons_master_stage_times){.forward = random_between(&random, 1, 10, true),
                                            .backward = random_between(&random, 1, 10, true)};
            if (i > 0) t[i].arrive = t[i].back = random_unit(&random);
        }
        double step = find_master(t, stages, m, &master), expected = estimate_step(t, stages, m);
        cr_expect(near(step, expected), "seed %lu, %u stages, %u micro-batches: %.12g, not %.12g", seed, stages, m,
                  step, expected);
        cr_expect(master < stages, "seed %lu", seed);
    }
}

Test(autopipe, the_master_is_the_slowest_stage_and_of_equal_ones_the_last) {
    for (uint32_t stages = 2; stages <= MOST_STAGES; ++stages)
        for (uint32_t slow = 0; slow <= stages; ++slow) {
            ons_master_stage_times t[MOST_STAGES];
            uint32_t master;
            for (uint32_t i = 0; i < stages; ++i) t[i] = (ons_master_stage_times){1, 2, 0, 0};
            if (slow < stages) t[slow] = (ons_master_stage_times){1.5, 3, 0, 0};
            find_master(t, stages, 4 * stages, &master);
            cr_expect(master == (slow < stages ? slow : stages - 1), "%u stages, %u slow: %u", stages, slow, master);
        }
}

/* Figure 7: with the same loads, the step is shorter the nearer the slowest stage is to the first. */
Test(autopipe, a_master_nearer_the_first_stage_is_faster) {
    double before = 0;
    for (uint32_t slow = 0; slow < 4; ++slow) {
        ons_master_stage_times t[4];
        uint32_t master;
        for (uint32_t i = 0; i < 4; ++i)
            t[i] = (ons_master_stage_times){.forward = i == slow ? 1.2 : 1, .backward = i == slow ? 2.4 : 2};
        double step = find_master(t, 4, 12, &master);
        cr_expect(step >= before, "stage %u: %g, one earlier %g", slow, step, before);
        before = step;
    }
}

/* ----------------------------------------------------------------------------------------------------------- splits */

static ons_partition split(const ons_planning_problem *p, const char *name) {
    ons_partition partition;
    ons_stage_costs *costs;
    expect_success(ons_stage_costs_new(p, &costs));
    expect_success(ons_partition_strategy_find(name)->search(costs, arena, &partition));
    ons_stage_costs_free(costs);
    return partition;
}

static double simulate(const ons_planning_problem *p, const uint32_t *first) {
    ons_pipeline_setup setup = {.problem = p, .first = first, .times_alone = true};
    ons_pipeline_forecast f;
    expect_success(ons_pipeline_simulate(&setup, arena, &f));
    ons_simulation_free(f.simulation);
    return f.iteration_seconds;
}

/* It starts from a split whose slowest stage is the fastest possible. */
Test(autopipe, no_slower_than_where_it_starts) {
    uint32_t faster = 0;
    for (uint64_t seed = 1; seed <= 200; ++seed) {
        random_source random = {seed};
        ons_workload work;
        random_work_options options = {.seed = seed, .nodes = 10 + random_below(&random, 50), .heavy_tailed = seed % 2};
        expect_success(random_work_make(&options, arena, &work));
        for (uint32_t i = 0; i < work.node_count; ++i) work.nodes[i].update_seconds = 0;
        expect_success(ons_workload_finish(&work, arena));
        uint32_t stages = 2 + random_below(&random, 5), m = stages + random_below(&random, 12);
        ons_planning_problem p = {.work = &work, .pipeline = {&ons_generator_one_f_one_b, stages, m, stages, 1}};
        ons_partition even = split(&p, "exact"), found = split(&p, "autopipe-nodes");
        cr_assert(found.feasible && found.first[0] == 0 && found.first[stages] == work.node_count, "seed %lu", seed);
        double seconds = simulate(&p, found.first), seed_seconds = simulate(&p, even.first);
        cr_expect(seconds <= seed_seconds * (1 + 1e-9), "seed %lu: %.12g, begun with %.12g", seed, seconds,
                  seed_seconds);
        faster += seconds < seed_seconds * (1 - 1e-9);
    }
    cr_expect(faster > 20, "%u of 200", faster);
}

/* The nodes in front of the first layer, and then layer by layer. */
static void number_layers(ons_workload *work) {
    enum { FRONT_NODES = 10, LAYER_NODES = 51 };
    for (uint32_t i = 0; i < work->layer_count; ++i) work->layers[i].count = 0;
    for (uint32_t i = 0; i < work->node_count; ++i) {
        uint32_t number = i < FRONT_NODES ? 0 : (i - FRONT_NODES) / LAYER_NODES + 1;
        ons_work_layer *layer = &work->layers[number];
        if (layer->count++ == 0) layer->first = i;
        work->nodes[i].layer = number;
    }
    work->layer_count = work->nodes[work->node_count - 1].layer + 1;
    expect_success(ons_workload_finish(work, arena));
}

/* Cuts between blocks carry what cuts between layers carry: one tensor, since the residual connection starts anew. */
Test(autopipe, blocks_are_cut_where_one_tensor_crosses) {
    ons_workload work;
    transformer_work_options options = transformer_work_bert(4);
    options.layers = 6;
    expect_success(transformer_work_make(&options, arena, &work));
    ons_work_layer *layers = work.layers;
    work.layers = ons_arena_allocate(arena, (size_t)work.layer_count + 1, sizeof *layers);
    memcpy(work.layers, layers, work.layer_count * sizeof *layers);
    work.layers[work.layer_count] = (ons_work_layer){.name = "head"};
    number_layers(&work);
    int64_t hidden = options.samples * options.sequence * options.hidden * 4;
    int64_t mask = options.samples * options.sequence * 4; /* that every layer reads */
    uint32_t within = 0;
    for (uint32_t stages = 2; stages <= 5; ++stages) {
        ons_planning_problem p = {.work = &work, .pipeline = {&ons_generator_one_f_one_b, stages, 8, stages, 1}};
        ons_partition found = split(&p, "autopipe");
        for (uint32_t i = 1; i < stages; ++i)
            within += work.nodes[found.first[i]].layer == work.nodes[found.first[i] - 1].layer;
        for (uint32_t i = 1; i < stages; ++i)
            cr_expect(ons_work_cut_bytes(&work, found.first[i]) <= hidden + mask, "%u stages, cut %u: %ld bytes",
                      stages, found.first[i], (long)ons_work_cut_bytes(&work, found.first[i]));
    }
    cr_expect(within > 0, "no layer is divided");
}

Test(autopipe, stages_and_replicas_are_chosen_by_the_step) {
    ons_workload work;
    expect_success(uniform_work_make(16, arena, &work));
    ons_planning_problem p = {.work = &work,
                              .pipeline = {&ons_generator_one_f_one_b, 1, 16, 1, 1},
                              .link_bandwidth = 1e9,
                              .link_latency = 1e-6};
    ons_degrees d;
    const ons_partition_strategy *strategy = ons_partition_strategy_find("autopipe-nodes");
    expect_success(ons_degrees_search(&p, strategy, 8, arena, &d));
    cr_expect(d.feasible && d.stages == 1 && d.replicas == 8, "%u stages of %u replicas", d.stages, d.replicas);
    const ons_stage_load load = {.in_flight = 2, .versions = 1, .accumulates = true};
    ons_stage_memory half;
    ons_work_stage_memory(&work, 0, 8, &load, &half);
    p.capacity_bytes = half.total + 200; /* two stages fit, one does not */
    expect_success(ons_degrees_search(&p, strategy, 8, arena, &d));
    cr_expect(d.feasible && d.stages == 2 && d.replicas == 4, "%u stages of %u replicas", d.stages, d.replicas);
    cr_expect(d.planned.problem.pipeline.micro_batches == 4);
    p.capacity_bytes = 1;
    expect_success(ons_degrees_search(&p, strategy, 8, arena, &d));
    cr_expect(!d.feasible && isinf(d.step_seconds));
}

/* ------------------------------------------------------------------------------------------- replicas of each stage */

static ons_layer_chain random_chain(random_source *random, const ons_planning_problem *problem) {
    ons_layer_chain chain = {.problem = problem, .count = 2 + random_below(random, MOST_LAYERS - 1)};
    chain.layers = ons_arena_allocate(arena, chain.count, sizeof *chain.layers);
    for (uint32_t i = 0; i < chain.count; ++i)
        chain.layers[i] = (ons_chain_layer){.forward = random_between(random, 1, 5, false),
                                            .backward = random_between(random, 1, 10, false),
                                            .activation_bytes = random_below(random, 100),
                                            .gradient_bytes = random_below(random, 100),
                                            .parameter_bytes = random_below(random, 1000),
                                            .saved_bytes = random_below(random, 100),
                                            .held_bytes = random_below(random, 500)};
    return chain;
}

/* Piper's formula, for all ways to go on from a layer with so many devices. */
static double best_of_all(const ons_layer_chain *c, uint32_t first, uint32_t devices) {
    const ons_planning_problem *p = c->problem;
    double best = first == c->count ? 0 : INFINITY;
    for (uint32_t end = first + 1; end <= c->count; ++end)
        for (uint32_t d = 1; d <= devices; ++d) {
            double own = 0, parameters = 0;
            int64_t bytes = 0;
            for (uint32_t i = first; i < end; ++i) {
                own += c->layers[i].forward + c->layers[i].backward;
                parameters += (double)c->layers[i].parameter_bytes;
                bytes += c->layers[i].held_bytes + (devices + d - 1) / d * c->layers[i].saved_bytes;
            }
            if (bytes > p->capacity_bytes) continue;
            for (uint32_t cut = first; cut <= end; cut += end - first)
                if (cut > 0 && cut < c->count)
                    own += ons_link_seconds(ons_link_in_node(p), c->layers[cut].activation_bytes) +
                           ons_link_seconds(ons_link_in_node(p), c->layers[cut].gradient_bytes);
            own = own / d + 4.0 * (d - 1) / d * parameters / p->link_bandwidth / p->pipeline.micro_batches;
            best = fmin(best, fmax(own, best_of_all(c, end, devices - d)));
        }
    return best;
}

Test(autopipe, piper_finds_the_least_time_of_all_that_fit) {
    uint32_t refused = 0;
    for (uint64_t seed = 1; seed <= 200; ++seed) {
        random_source random = {seed};
        ons_planning_problem p = {.pipeline = {&ons_generator_one_f_one_b, 1, 1 + random_below(&random, 8), 1, 1},
                                  .capacity_bytes = 300 + random_below(&random, 2000),
                                  .link_bandwidth = 100,
                                  .link_latency = 0.01};
        ons_layer_chain chain = random_chain(&random, &p);
        uint32_t devices = 1 + random_below(&random, 4), used = 0;
        double expected = INFINITY, fixed = INFINITY;
        ons_replicated_plan plan;
        for (uint32_t d = 1; d <= devices; ++d) expected = fmin(expected, best_of_all(&chain, 0, d));
        expect_success(ons_piper_plan(&chain, devices, 0, arena, &plan));
        refused += isinf(expected);
        cr_expect(isinf(expected) ? plan.stages == 0 : near(plan.seconds, expected), "seed %lu: %g, not %g", seed,
                  plan.seconds, expected);
        for (uint32_t i = 0; i < plan.stages; ++i) used += plan.replicas[i];
        cr_expect(used <= devices && (plan.stages == 0 || plan.first[plan.stages] == chain.count), "seed %lu", seed);
        for (uint32_t stages = 1; stages <= devices; ++stages) {
            ons_replicated_plan of;
            expect_success(ons_piper_plan(&chain, devices, stages, arena, &of));
            cr_expect(of.stages == 0 || of.stages == stages, "seed %lu: %u stages, not %u", seed, of.stages, stages);
            fixed = fmin(fixed, of.seconds);
        }
        cr_expect(isinf(expected) ? isinf(fixed) : near(fixed, expected), "seed %lu: by stages %g, not %g", seed, fixed,
                  expected);
    }
    cr_expect(refused > 0 && refused < 200, "%u", refused);
}

/* Two stages on two devices, by hand: the slower one sets the pace of all rounds but one, and both fill and end. */
Test(autopipe, dapple_takes_the_cut_of_least_latency) {
    for (uint64_t seed = 1; seed <= 100; ++seed) {
        random_source random = {seed};
        ons_planning_problem p = {.pipeline = {&ons_generator_one_f_one_b, 1, 2 + random_below(&random, 8), 1, 1}};
        ons_layer_chain chain = random_chain(&random, &p);
        ons_replicated_plan plan;
        double best = INFINITY, all = 0, rounds = p.pipeline.micro_batches - 1.0;
        for (uint32_t i = 0; i < chain.count; ++i) all += chain.layers[i].forward + chain.layers[i].backward;
        for (uint32_t cut = 1; cut < chain.count; ++cut) {
            double f[2] = {0}, b[2] = {0};
            for (uint32_t i = 0; i < chain.count; ++i) {
                f[i >= cut] += chain.layers[i].forward;
                b[i >= cut] += chain.layers[i].backward;
            }
            bool early = f[0] + b[0] > f[1] + b[1];
            double ways = early ? f[0] + b[0] : f[0] + f[1] + b[0] + b[1];
            best = fmin(best, ways + rounds * fmax(f[0] + b[0], f[1] + b[1]));
        }
        expect_success(ons_dapple_plan(&chain, 2, 2, arena, &plan));
        cr_expect(plan.stages == 2 && near(plan.seconds, best), "seed %lu: %u stages, %g, not %g", seed, plan.stages,
                  plan.seconds, best);
        expect_success(ons_dapple_plan(&chain, 2, 1, arena, &plan));
        cr_expect(near(plan.seconds, fmin(best, all / 2 * (rounds + 1))), "seed %lu", seed);
    }
}
