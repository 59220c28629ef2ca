/* The choice by a step's time: the estimate against the simulator, and what auto makes of both. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

#include "planner/partition/step_estimate.h"
#include "planner/search/planner.h"
#include "planner/simulate/pipeline_simulation.h"
#include "tests/rooms/planner/planning_case.h"

static ons_arena *arena;

static void make_arena(void) { arena = ons_arena_new(); }
static void free_arena(void) { ons_arena_free(arena); }

TestSuite(step, .init = make_arena, .fini = free_arena);

static void expect_success(ons_status *status) {
    cr_assert(status == NULL, "%s", status != NULL ? ons_status_get_message(status) : "");
}

static void begin(const planning_case *c, ons_planning_problem *problem) {
    ons_arena_free(arena);
    arena = ons_arena_new();
    expect_success(planning_case_make(c, arena, problem));
}

static double simulate(const ons_planning_problem *p, const uint32_t *first, const ons_stage_solution *solutions) {
    ons_pipeline_setup setup = {.problem = p, .first = first, .solutions = solutions};
    ons_pipeline_forecast f;
    expect_success(ons_pipeline_simulate(&setup, arena, &f));
    ons_simulation_free(f.simulation);
    return f.iteration_seconds;
}

/* --------------------------------------------------------------------------------------------------------- estimate */

static double transfer(const ons_planning_problem *p, int64_t bytes) {
    return p->link_bandwidth > 0 && bytes > 0 ? p->link_latency + (double)bytes / p->link_bandwidth : 0;
}

static ons_step_stage *stages_of(const ons_planning_problem *p, const uint32_t *first) {
    ons_step_stage *s = ons_arena_allocate(arena, p->pipeline.stages, sizeof *s);
    for (uint32_t i = 0; i < p->pipeline.stages; ++i)
        s[i] = (ons_step_stage){
            .forward = ons_work_forward_seconds(p->work, first[i], first[i + 1]),
            .backward = ons_work_backward_seconds(p->work, first[i], first[i + 1]),
            .update = ons_work_update_seconds(p->work, first[i], first[i + 1]),
            .arrive = i > 0 ? transfer(p, ons_work_cut_bytes(p->work, first[i])) : 0,
            .back = i > 0 ? transfer(p, ons_work_cut_gradient_bytes(p->work, first[i])) : 0,
            .travel = p->link_eager_bytes > 0 ? p->link_latency : 0,
            .weight = ons_work_weight_seconds(p->work, first[i], first[i + 1]),
            .slack_back = i > 0 ? p->work->nodes[first[i]].late_weight_seconds : 0,
            .slack_weight = i > 0 ? p->work->nodes[first[i]].late_weight_seconds : 0,
        };
    return s;
}

static const uint32_t *cut_randomly(random_source *random, uint32_t nodes, uint32_t stages) {
    uint32_t *first = ons_arena_allocate(arena, stages + 1, sizeof *first);
    first[stages] = nodes;
    for (uint32_t i = stages; i-- > 1;) first[i] = i + random_below(random, first[i + 1] - i);
    first[0] = 0;
    return first;
}

/* Without links it is exact. With links the simulator may wait for room at the receiver as well. */
Test(step, the_estimate_is_what_the_simulator_finds_in_chains) {
    double farthest = 0;
    for (uint64_t seed = 1; seed <= 400; ++seed) {
        ons_planning_problem p;
        begin(
            &(planning_case){
                .seed = seed, .least_nodes = 8, .most_nodes = 40, .most_stages = 8, .chains = true, .free_links = true},
            &p);
        random_source random = {seed};
        bool free_links = seed % 2 == 0;
        p.capacity_bytes = 0;
        p.pipeline.generator = seed % 4 < 2 ? &ons_generator_gpipe : &ons_generator_one_f_one_b;
        if (!free_links) p.link_bandwidth = random_between(&random, 1e8, 1e10, true);
        const uint32_t *first = cut_randomly(&random, p.work->node_count, p.pipeline.stages);
        ons_step_stage *s = stages_of(&p, first);
        ons_step_walk walk;
        expect_success(ons_step_walk_make(&p.pipeline, NULL, arena, &walk));
        double simulated = simulate(&p, first, NULL), estimate = ons_step_estimate(&walk, s);
        cr_expect(ons_step_bound(&walk, s) <= estimate, "seed %lu: bound %.12g, estimate %.12g", seed,
                  ons_step_bound(&walk, s), estimate);
        cr_expect(estimate <= simulated * (1 + 1e-9), "seed %lu: estimate %.12g, simulated %.12g", seed, estimate,
                  simulated);
        if (free_links)
            cr_expect(estimate >= simulated * (1 - 1e-9), "seed %lu: estimate %.12g, simulated %.12g", seed, estimate,
                      simulated);
        farthest = fmax(farthest, simulated / estimate - 1);
    }
    printf("with links the estimate is short by at most %.2f %%\n", 100 * farthest);
}

/* ----------------------------------------------------------------------------------------------------------- choice */

static ons_planned plan(const ons_planning_problem *problem, const char *strategy, ons_objective objective) {
    ons_planned planned;
    ons_planning_problem p = *problem;
    p.objective = objective;
    expect_success(ons_planner_search(&p, ons_partition_strategy_find(strategy), arena, &planned));
    return planned;
}

static double step_of(const ons_planned *planned) {
    return simulate(&planned->problem, planned->partition.first, planned->solutions);
}

/* Never slower than the split with the fastest slowest stage, nor over the capacity; and often faster. */
Test(step, auto_takes_the_faster_step) {
    const ons_memory_strategy *capuchin = ons_memory_strategy_find("capuchin");
    uint32_t cases = 0, faster = 0;
    double sum = 0, most = 0;
    for (uint64_t seed = 1; seed <= 200; ++seed) {
        ons_planning_problem p;
        begin(&(planning_case){.seed = seed, .least_nodes = 12, .most_nodes = 60, .most_stages = 6, .memory = capuchin},
              &p);
        ons_planned step = plan(&p, "auto", ONS_OBJECTIVE_BY_SCHEDULE);
        ons_planned slowest = plan(&p, "auto", ONS_OBJECTIVE_BOTTLENECK);
        cr_expect(step.partition.feasible == slowest.partition.feasible, "seed %lu", seed);
        if (!step.partition.feasible) continue;
        cr_expect(step.by_step && !slowest.by_step);
        double left = step_of(&step), right = step_of(&slowest);
        cr_expect(left <= right * (1 + 1e-9), "seed %lu: %.9g s a step, %.9g with the fastest slowest stage", seed,
                  left, right);
        cr_expect_eq(step.best_bottleneck.step_seconds, right, "seed %lu", seed);
        cr_expect(step.partition.bottleneck_seconds >= slowest.partition.bottleneck_seconds * (1 - 2e-3),
                  "seed %lu: the slowest stage is faster by the way", seed);
        for (uint32_t i = 0; i < p.pipeline.stages; ++i)
            cr_expect_leq(step.solutions[i].memory.total, p.capacity_bytes, "seed %lu", seed);
        ++cases;
        faster += left < right * (1 - 1e-6);
        sum += 1 - left / right;
        most = fmax(most, 1 - left / right);
    }
    printf("%u problems: %u steps are faster, by %.2f %% in the mean, at most %.1f %%\n", cases, faster,
           100 * sum / cases, 100 * most);
    cr_expect(cases > 50 && faster > cases / 4, "%u of %u", faster, cases);
}

/* By name, as a user can ask for it; infinite where it does not fit or refuses. */
static double baseline_step(const ons_planning_problem *problem, const char *name, const char *memory) {
    ons_planning_problem p = *problem;
    ons_planned planned;
    p.memory = ons_memory_strategy_find(memory);
    ons_status *status = ons_planner_search(&p, ons_partition_strategy_find(name), arena, &planned);
    if (status != NULL) { /* fewer layers than stages */
        cr_assert_eq(ons_status_get_code(status), ONS_INVALID_ARGUMENT);
        ons_status_free(status);
        return INFINITY;
    }
    return planned.partition.feasible ? step_of(&planned) : INFINITY;
}

/* Whatever the schedule: never slower, and never without a plan where one of them has one. */
Test(step, auto_is_never_worse_than_a_baseline) {
    static const struct {
        const char *name, *memory;
    } baselines[] = {
        {"uniform", "capuchin"},
        {"gpipe", "capuchin"},
        {"gpipe-nodes", "capuchin"},
        {"gpipe", "recompute-stage"},
        {"pipedream", "capuchin"},
        {"pipedream-nodes", "capuchin"},
        {"compute-balanced", "capuchin"},
        {"compute-balanced-nodes", "capuchin"},
        {"compute-balanced", "recompute-layers"},
        {"memory-balanced", "capuchin"},
        {"memory-balanced-nodes", "capuchin"},
        {"vpipe", "capuchin"},
        {"vpipe-nodes", "capuchin"},
        {"vpipe", "vpipe-layers"},
        {"vpipe-nodes", "vpipe-layers"},
        {"dawnpiper", "capuchin"},
    };
    uint32_t compared = 0, faster = 0, alone = 0;
    for (uint64_t seed = 1; seed <= 150; ++seed) {
        ons_planning_problem p;
        begin(&(planning_case){.seed = seed,
                               .least_nodes = 10,
                               .most_nodes = 60,
                               .most_stages = 6,
                               .memory = ons_memory_strategy_find("capuchin")},
              &p);
        ons_planned found = plan(&p, "auto", ONS_OBJECTIVE_BY_SCHEDULE);
        double own = found.partition.feasible ? step_of(&found) : INFINITY;
        for (size_t i = 0; i < sizeof baselines / sizeof *baselines; ++i) {
            double other = baseline_step(&p, baselines[i].name, baselines[i].memory);
            cr_expect(own <= other * (1 + 1e-9), "seed %lu, %s: %.9g s, %s with %s %.9g s", seed,
                      p.pipeline.generator->name, own, baselines[i].name, baselines[i].memory, other);
            compared += isfinite(other);
            faster += isfinite(other) && own < other * (1 - 1e-6);
            alone += isfinite(own) && isinf(other);
        }
    }
    printf("%u plans of baselines: auto is faster than %u; in %u cases it alone fits\n", compared, faster, alone);
    cr_expect(compared > 500 && faster > compared / 3, "%u of %u", faster, compared);
}

static double best_step(const ons_planning_problem *p, uint32_t *first, uint32_t stage) {
    double best = INFINITY;
    if (stage == p->pipeline.stages) return simulate(p, first, NULL);
    uint32_t last = p->work->node_count - (p->pipeline.stages - stage);
    for (first[stage] = first[stage - 1] + 1; first[stage] <= last; ++first[stage])
        best = fmin(best, best_step(p, first, stage + 1));
    return best;
}

/* Against every split of the file's order. */
Test(step, auto_is_near_the_fastest_step_of_all_splits) {
    double sum = 0, worst = 0;
    uint32_t cases = 0, optimal = 0;
    uint64_t worst_seed = 0;
    for (uint64_t seed = 1; seed <= 120; ++seed) {
        ons_planning_problem p;
        begin(&(planning_case){.seed = seed, .least_nodes = 8, .most_nodes = 20, .most_stages = 4}, &p);
        p.capacity_bytes = 0;
        p.memory = ons_memory_strategy_find("none");
        ons_planned found = plan(&p, "auto", ONS_OBJECTIVE_BY_SCHEDULE);
        uint32_t *first = ons_arena_allocate(arena, p.pipeline.stages + 1, sizeof *first);
        first[p.pipeline.stages] = p.work->node_count;
        double gap = step_of(&found) / best_step(&p, first, 1) - 1;
        ++cases;
        optimal += gap <= 1e-9;
        sum += fmax(gap, 0);
        if (gap > worst) {
            worst = gap;
            worst_seed = seed;
        }
    }
    printf("%u problems, %u optimal, mean gap %.3f %%, worst %.2f %% (seed %lu)\n", cases, optimal, 100 * sum / cases,
           100 * worst, worst_seed);
    cr_expect(sum / cases < 0.01, "mean gap %.3f %%", 100 * sum / cases);
    cr_expect(worst < 0.1, "worst gap %.2f %%, seed %lu", 100 * worst, worst_seed);
}

/* --------------------------------------------------------------------------------------- several stages on a device */

Test(step, the_stages_of_a_device_share_its_memory) {
    const planning_case c = {.least_nodes = 8,
                             .most_nodes = 24,
                             .least_stages = 2,
                             .most_stages = 2,
                             .memory = ons_memory_strategy_find("capuchin")};
    uint32_t fit = 0, not = 0;
    for (uint64_t seed = 0; seed < 60; ++seed) {
        planning_case options = c;
        ons_planning_problem p;
        ons_planned planned;
        int64_t *bytes;
        options.seed = seed;
        begin(&options, &p);
        int64_t cap = p.capacity_bytes * (int64_t)(seed % 4 + 2) / 2;
        p.pipeline = (ons_pipeline){ons_generator_find("interleaved"), 4, 4, 2, 1};
        p.schedule = NULL;
        p.capacity_bytes = cap;
        const ons_partition_strategy *strategy = ons_partition_strategy_find("auto");
        expect_success(ons_planner_search(&p, strategy, arena, &planned));
        cr_assert_eq(planned.problem.capacity_bytes, cap);
        if (!planned.partition.feasible) {
            ++not ;
            cr_assert_gt(planned.partition.least_bytes, cap, "seed %llu", (unsigned long long)seed);
            if (planned.partition.least_bytes == INT64_MAX) continue;
            p.capacity_bytes = cap = planned.partition.least_bytes;
            expect_success(ons_planner_search(&p, strategy, arena, &planned));
            cr_assert(planned.partition.feasible, "seed %llu", (unsigned long long)seed);
        } else {
            ++fit;
        }
        expect_success(ons_planned_sum_devices(&planned, arena, &bytes));
        for (uint32_t i = 0; i < 2; ++i)
            cr_assert_leq(bytes[i], cap, "seed %llu: device %u", (unsigned long long)seed, i);
    }
    cr_assert(fit > 5 && not > 5, "%u fit, %u did not", fit, not );
}
