/* Several stages on a device, or weight gradients apart, under a cap: what its stages take together stays below it, in
 * the plan and in every moment of the simulation; where nothing fits, the memory that is said to do does. */
#include <criterion/criterion.h>

#include "base/map.h"
#include "planner/search/least_memory.h"
#include "planner/search/planner.h"
#include "planner/simulate/pipeline_simulation.h"
#include "tests/rooms/planner/random_work.h"

enum { CASES = 40, NODES = 24, STAGES = 4, MICRO_BATCHES = 4 };

static ons_arena *arena;

static void make_arena(void) { arena = ons_arena_new(); }
static void free_arena(void) { ons_arena_free(arena); }

TestSuite(device_memory, .init = make_arena, .fini = free_arena);

static void expect_success(ons_status *status) {
    cr_assert(status == NULL, "%s", status != NULL ? ons_status_get_message(status) : "");
}

static ons_planning_problem pose(uint64_t seed, ons_workload *work) {
    static const ons_generator *const generators[] = {&ons_generator_interleaved, &ons_generator_looped,
                                                      &ons_generator_v, &ons_generator_zero_bubble};
    random_work_options options = random_work_graph(seed, NODES);
    expect_success(random_work_make(&options, arena, work));
    ons_planning_problem problem = {
        .work = work,
        .pipeline = {generators[seed % 4], STAGES, MICRO_BATCHES, 0},
        .memory = ons_memory_strategy_find(seed / 4 % 2 == 0 ? "capuchin" : "recompute-all"),
        .host_bandwidth = 1e8,
    };
    return problem;
}

static int64_t fullest(const ons_planned *planned) {
    int64_t *bytes, most = 0;
    expect_success(ons_planned_sum_devices(planned, arena, &bytes));
    for (uint32_t i = 0; i < planned->problem.schedule->devices; ++i) most = bytes[i] > most ? bytes[i] : most;
    return most;
}

/* A device has one copy of a tensor, whichever of its stages read it. */
static void expect_one_decision(const ons_planned *planned, uint64_t seed) {
    ons_plan plan = {0};
    ons_map decided[STAGES] = {{0}};
    expect_success(ons_planner_fill(planned, arena, &plan));
    for (uint32_t i = 0; i < STAGES; ++i)
        for (uint32_t k = 0; k < plan.stages[i].decision_count; ++k) {
            const char *tensor = plan.stages[i].decisions[k].tensor;
            ons_map *of_device = &decided[plan.stages[i].device];
            cr_expect_eq(ons_map_get(of_device, tensor), ONS_MAP_ABSENT, "seed %llu: '%s' of stage %u is decided twice",
                         (unsigned long long)seed, tensor, i);
            expect_success(ons_map_set(of_device, tensor, i));
        }
    for (uint32_t i = 0; i < STAGES; ++i) ons_map_free(&decided[i]);
}

static void expect_to_hold(const ons_planned *planned, int64_t capacity, uint64_t seed) {
    ons_pipeline_forecast forecast;
    const ons_pipeline_setup setup = {
        .problem = &planned->problem, .first = planned->partition.first, .solutions = planned->solutions};
    cr_expect(fullest(planned) <= capacity, "seed %llu: %lld of %lld", (unsigned long long)seed,
              (long long)fullest(planned), (long long)capacity);
    expect_success(ons_pipeline_simulate(&setup, arena, &forecast));
    for (uint32_t i = 0; i < forecast.device_count; ++i)
        cr_expect(forecast.devices[i].peak_bytes <= capacity, "seed %llu, device %u", (unsigned long long)seed, i);
    ons_simulation_free(forecast.simulation);
    expect_one_decision(planned, seed);
}

Test(device_memory, stages_of_a_device_share_its_memory) {
    const ons_partition_strategy *strategy = ons_partition_strategy_find("auto");
    uint32_t fitted = 0, refused = 0;
    for (uint64_t seed = 1; seed <= CASES; ++seed) {
        ons_workload work;
        ons_planned free_plan, planned;
        ons_planning_problem problem = pose(seed, &work);
        expect_success(ons_planner_search(&problem, strategy, arena, &free_plan));
        int64_t whole = fullest(&free_plan);
        for (int percent = 100; percent >= 20; percent -= 20) {
            problem.capacity_bytes = whole / 100 * percent;
            expect_success(ons_planner_search(&problem, strategy, arena, &planned));
            if (planned.partition.feasible) {
                expect_to_hold(&planned, problem.capacity_bytes, seed);
                ++fitted;
                continue;
            }
            ons_least_memory least;
            cr_expect(planned.partition.least_bytes > 0);
            expect_success(ons_least_memory_find(&problem, strategy, &planned, &least));
            problem.capacity_bytes = least.capacity_bytes;
            expect_success(ons_planner_search(&problem, strategy, arena, &planned));
            cr_assert(planned.partition.feasible, "seed %llu", (unsigned long long)seed);
            expect_to_hold(&planned, problem.capacity_bytes, seed);
            ++refused;
            break;
        }
    }
    cr_expect(fitted > CASES && refused > CASES / 4, "%u fit, %u do not", fitted, refused);
}

/* A capacity that is less than a byte for each stage is no capacity without a limit. */
Test(device_memory, nothing_fits_a_byte) {
    const ons_partition_strategy *strategy = ons_partition_strategy_find("auto");
    for (uint64_t seed = 1; seed <= 6; ++seed) {
        ons_workload work;
        ons_planned planned;
        ons_planning_problem problem = pose(seed, &work);
        problem.capacity_bytes = 1;
        expect_success(ons_planner_search(&problem, strategy, arena, &planned));
        cr_expect(!planned.partition.feasible, "seed %llu", (unsigned long long)seed);
        cr_expect(planned.partition.least_bytes > 1);
    }
}
