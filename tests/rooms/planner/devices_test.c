/* Devices that differ: GPUs of several kinds in one pipeline. */
#include "planner/partition/devices.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "planner/partition/link.h"
#include "planner/plan/plan_check.h"
#include "planner/plan/plan_replay.h"
#include "planner/search/portfolio.h"
#include "planner/simulate/pipeline_simulation.h"
#include "tests/rooms/planner/planning_case.h"

enum { CASES = 150, DEVICES_MOST = 5 };

static ons_arena *arena;
static void make_arena(void) { arena = ons_arena_new(); }
static void free_arena(void) { ons_arena_free(arena); }

TestSuite(devices, .init = make_arena, .fini = free_arena);

static void expect_success(ons_status *status) {
    cr_assert(status == NULL, "%s", status != NULL ? ons_status_get_message(status) : "");
}

/* A workload's nodes, each slower by a factor of its own. */
static ons_workload *slower(const ons_workload *work, random_source *random, double most) {
    ons_workload *made = ons_arena_allocate(arena, 1, sizeof *made);
    *made = *work;
    made->nodes = ons_arena_allocate(arena, (size_t)work->node_count + 1, sizeof *made->nodes);
    for (uint32_t i = 0; i < work->node_count; ++i) {
        double factor = random_between(random, 1, most, false);
        made->nodes[i] = work->nodes[i];
        made->nodes[i].forward_seconds *= factor;
        made->nodes[i].input_gradient_seconds *= factor;
        made->nodes[i].weight_gradient_seconds *= factor;
        made->nodes[i].update_seconds *= factor;
    }
    made->index = NULL;
    expect_success(ons_workload_finish(made, arena));
    return made;
}

typedef struct mixed {
    ons_planning_problem problem;
    ons_planning_device *devices;
    ons_workload least;
} mixed;

/* Two kinds of devices, by chance in any order; the second is slower, and smaller or not. */
static void make_mixed(uint64_t seed, const ons_memory_strategy *memory, mixed *m) {
    random_source random = {seed * 31 + 7};
    const planning_case options = {.seed = seed,
                                   .least_nodes = 6,
                                   .most_nodes = 18,
                                   .least_stages = 2,
                                   .most_stages = DEVICES_MOST,
                                   .memory = memory};
    expect_success(planning_case_make(&options, arena, &m->problem));
    uint32_t count = m->problem.pipeline.stages;
    const ons_workload *kinds[] = {m->problem.work, slower(m->problem.work, &random, 3)};
    int64_t less = random_chance(&random, 0.5) ? m->problem.capacity_bytes / 4 : 0;
    m->devices = ons_arena_allocate(arena, count, sizeof *m->devices);
    for (uint32_t i = 0; i < count; ++i) {
        bool second = random_chance(&random, 0.5);
        m->devices[i] = (ons_planning_device){kinds[second], second ? less : 0};
    }
    expect_success(ons_devices_least_work(m->devices, count, arena, &m->least));
    m->problem.work = &m->least;
    m->problem.devices = m->devices;
    m->problem.device_count = count;
    ons_schedule *schedule = ons_arena_allocate(arena, 1, sizeof *schedule);
    expect_success(ons_schedule_make(&m->problem.pipeline, arena, schedule));
    m->problem.schedule = schedule;
}

/* ------------------------------------------------------------------------------------------------------------ exact */

static double transfer(const ons_planning_problem *p, uint32_t cut) {
    if (cut == 0 || cut == p->work->node_count) return 0;
    int64_t forth = ons_work_cut_bytes(p->work, cut), back = ons_work_cut_gradient_bytes(p->work, cut);
    return ons_link_seconds(ons_link_in_node(p), forth > back ? forth : back);
}

/* All cuts, one after the other, by what each device takes as it is. */
static double best_of_all(const ons_planning_problem *p, uint32_t stage, uint32_t begin) {
    uint32_t nodes = p->work->node_count, stages = p->pipeline.stages;
    const ons_workload *work = p->devices[p->schedule->device_of[stage]].work;
    if (stage + 1 == stages) return begin < nodes ? ons_work_seconds(work, begin, nodes) : INFINITY;
    double best = INFINITY;
    for (uint32_t end = begin + 1; end < nodes; ++end) {
        double here = fmax(ons_work_seconds(work, begin, end), transfer(p, end));
        best = fmin(best, fmax(here, best_of_all(p, stage + 1, end)));
    }
    return best;
}

Test(devices, the_exact_split_is_the_best_of_all) {
    for (uint64_t seed = 1; seed <= CASES; ++seed) {
        mixed m;
        ons_planned planned;
        make_mixed(seed, &even_memory, &m);
        m.problem.capacity_bytes = 0;
        expect_success(ons_planner_search_order(&m.problem, ons_partition_strategy_find("exact"), arena, &planned));
        double best = best_of_all(&m.problem, 0, 0);
        cr_assert(planned.partition.feasible);
        cr_expect_float_eq(planned.partition.bottleneck_seconds, best, 1e-9 * best, "seed %llu: %g and %g",
                           (unsigned long long)seed, planned.partition.bottleneck_seconds, best);
    }
}

/* ------------------------------------------------------------------------------------------------------ all of them */

static void expect_plan(const mixed *m, const ons_planned *planned, const char *name, uint64_t seed) {
    const ons_planning_problem *p = &planned->problem;
    ons_pipeline_setup setup = {.problem = p, .first = planned->partition.first, .solutions = planned->solutions};
    ons_pipeline_forecast forecast;
    expect_success(ons_pipeline_simulate(&setup, arena, &forecast));
    for (uint32_t i = 0; i < p->pipeline.stages; ++i) {
        uint32_t first = planned->partition.first[i], end = planned->partition.first[i + 1];
        double seconds = ons_work_seconds(p->devices[i].work, first, end);
        int64_t capacity = m->problem.capacity_bytes - m->devices[i].less_bytes;
        cr_expect(m->problem.capacity_bytes == 0 || planned->solutions[i].memory.total <= capacity,
                  "seed %llu, %s, stage %u", (unsigned long long)seed, name, i);
        cr_expect_geq(planned->solutions[i].seconds, seconds * (1 - 1e-9), "seed %llu, %s, stage %u",
                      (unsigned long long)seed, name, i);
        cr_expect_geq(forecast.iteration_seconds, seconds * p->pipeline.micro_batches * (1 - 1e-9), "seed %llu, %s",
                      (unsigned long long)seed, name);
    }
    ons_simulation_free(forecast.simulation);
}

/* Each stage is charged, and capped, as its own device is. */
Test(devices, every_strategy_keeps_each_device_within_its_memory) {
    uint32_t fitted = 0, refused = 0;
    for (uint64_t seed = 1; seed <= CASES / 3; ++seed) {
        mixed m;
        make_mixed(seed, ons_memory_strategy_find("capuchin"), &m);
        m.problem.host_bandwidth = 1e9;
        for (const ons_partition_strategy *const *s = ons_partition_strategies; *s != NULL; ++s) {
            ons_planned planned;
            if ((*s)->search == NULL) continue;
            ons_status *status = ons_planner_search(&m.problem, *s, arena, &planned);
            if (status != NULL) { /* fewer layers than stages */
                cr_expect_eq(ons_status_get_code(status), ONS_INVALID_ARGUMENT);
                ons_status_free(status);
                continue;
            }
            refused += !planned.partition.feasible;
            fitted += planned.partition.feasible;
            if (planned.partition.feasible) expect_plan(&m, &planned, (*s)->name, seed);
        }
    }
    cr_expect_gt(fitted, 100);
    cr_expect_gt(refused, 20);
}

/* What is said of one device after the other is what was said of all together. */
Test(devices, devices_that_are_alike_make_no_difference) {
    for (uint64_t seed = 1; seed <= CASES / 3; ++seed) {
        mixed m;
        ons_planned alike, listed;
        make_mixed(seed, ons_memory_strategy_find("capuchin"), &m);
        for (uint32_t i = 0; i < m.problem.device_count; ++i) m.devices[i] = (ons_planning_device){m.problem.work, 0};
        expect_success(ons_planner_search(&m.problem, ons_partition_strategy_find("auto"), arena, &listed));
        m.problem.devices = NULL;
        expect_success(ons_planner_search(&m.problem, ons_partition_strategy_find("auto"), arena, &alike));
        cr_assert_eq(alike.partition.feasible, listed.partition.feasible);
        cr_expect_eq(alike.partition.bottleneck_seconds, listed.partition.bottleneck_seconds);
        cr_expect(!alike.partition.feasible ||
                      memcmp(alike.partition.first, listed.partition.first,
                             ((size_t)alike.partition.stages + 1) * sizeof *alike.partition.first) == 0,
                  "seed %llu", (unsigned long long)seed);
    }
}

/* A device that is four times as fast gets about four times the work of an even model. */
Test(devices, faster_devices_get_more_work) {
    ons_workload work, *slow;
    ons_planned planned;
    random_source none = {1};
    expect_success(uniform_work_make(100, arena, &work));
    slow = slower(&work, &none, 1);
    for (uint32_t i = 0; i < slow->node_count; ++i) {
        slow->nodes[i].forward_seconds *= 4;
        slow->nodes[i].input_gradient_seconds *= 4;
        slow->nodes[i].weight_gradient_seconds *= 4;
    }
    slow->index = NULL;
    expect_success(ons_workload_finish(slow, arena));
    const ons_planning_device devices[] = {{&work, 0}, {slow, 0}};
    const ons_planning_problem p = {.work = &work,
                                    .devices = devices,
                                    .device_count = 2,
                                    .memory = ons_memory_strategy_find("capuchin"),
                                    .objective = ONS_OBJECTIVE_BOTTLENECK,
                                    .pipeline = {&ons_generator_one_f_one_b, 2, 8, 0, 1}};
    expect_success(ons_planner_search(&p, ons_partition_strategy_find("auto"), arena, &planned));
    cr_expect(planned.partition.first[1] >= 78 && planned.partition.first[1] <= 82, "%u nodes of 100",
              planned.partition.first[1]);
}

/* ------------------------------------------------------------------------------------------------------------ files */

static void fill(const ons_planned *planned, ons_plan *plan) {
    *plan = (ons_plan){.partition = "auto"};
    plan->subject = (ons_plan_subject){.model = "m",
                                       .digest = "d",
                                       .loss = "l",
                                       .optimizer = "o",
                                       .precision = "p",
                                       .device_profile = "x*1,y*1",
                                       .trainable_digest = "t",
                                       .replicas = 1,
                                       .micro_batches = planned->problem.pipeline.micro_batches,
                                       .batch = planned->problem.pipeline.micro_batches};
    expect_success(ons_planner_fill(planned, arena, plan));
}

Test(devices, a_plan_keeps_what_each_device_holds) {
    uint32_t written = 0;
    for (uint64_t seed = 1; seed <= CASES / 3; ++seed) {
        mixed m;
        ons_planned planned;
        ons_plan plan, again;
        ons_pipeline_forecast forecast;
        char *text;
        make_mixed(seed, ons_memory_strategy_find("capuchin"), &m);
        expect_success(ons_planner_search(&m.problem, ons_partition_strategy_find("auto"), arena, &planned));
        if (!planned.partition.feasible || m.problem.capacity_bytes == 0) continue;
        ++written;
        fill(&planned, &plan);
        expect_success(ons_plan_print(&plan, &text));
        expect_success(ons_plan_parse(text, strlen(text), arena, &again));
        for (uint32_t i = 0; i < m.problem.device_count; ++i)
            cr_expect_eq(ons_plan_capacity(&again, i), m.problem.capacity_bytes - m.devices[i].less_bytes);
        expect_success(ons_plan_replay(&again, arena, &forecast));
        cr_expect_float_eq(forecast.iteration_seconds, plan.step_seconds, 1e-9 * plan.step_seconds);
        ons_simulation_free(forecast.simulation);
        free(text);
        plan.capacities[0] = plan.stages[0].memory_bytes - 1; /* somebody has made a device smaller */
        expect_success(ons_plan_print(&plan, &text));
        ons_status *status = ons_plan_parse(text, strlen(text), arena, &again);
        if (status == NULL) status = ons_plan_check_costs(&again, arena);
        cr_expect_not_null(status, "seed %llu", (unsigned long long)seed);
        ons_status_free(status);
        free(text);
    }
    cr_expect_gt(written, 10);
}
