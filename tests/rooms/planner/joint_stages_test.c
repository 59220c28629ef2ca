/* Stages before which a step's micro-batches all come together: nodes that compare samples with each other. */
#include <criterion/criterion.h>
#include <math.h>

#include "base/status.h"
#include "planner/search/planner.h"
#include "planner/stage_graph/graphpipe.h"
#include "tests/rooms/planner/branch_work.h"

enum { SIZES = 5, BATCH = 16 };

static ons_arena *arena;

static void make_arena(void) { arena = ons_arena_new(); }
static void free_arena(void) { ons_arena_free(arena); }

TestSuite(joint_stages, .init = make_arena, .fini = free_arena);

static void expect_success(ons_status *status) {
    cr_assert(status == NULL, "%s", status != NULL ? ons_status_get_message(status) : "");
}

static bool has_joint(const ons_stage_graph *g, uint32_t stage, const bool *joint) {
    for (uint32_t i = g->stages[stage].first; i < g->stages[stage].end; ++i)
        if (joint[g->order[i]]) return true;
    return false;
}

static bool *random_joint(random_source *random, uint32_t nodes) {
    bool *joint = ons_arena_allocate(arena, nodes, sizeof *joint);
    cr_assert_not_null(joint);
    for (uint32_t i = 0; i < nodes; ++i) joint[i] = random_chance(random, 0.15);
    joint[nodes - 1] = true;
    return joint;
}

/* Whatever may be joint: its stage has all samples at once on one device, the plan is legal, and it is found wherever
 * the whole model as one stage fits. */
Test(joint_stages, they_take_all_samples) {
    uint32_t smaller = 0, several = 0;
    for (uint64_t seed = 1; seed <= 150; ++seed) {
        random_source random = {seed * 31};
        branch_graph graph;
        ons_graphpipe_result found;
        ons_planning_problem hardware = {.capacity_bytes = 0};
        expect_success(random_series_parallel(seed, 4 + (uint32_t)(seed % 12), arena, &graph));
        ons_graph_problem problem = {.sizes = SIZES,
                                     .batch = BATCH,
                                     .devices = 2 + (uint32_t)(seed % 4),
                                     .most_replicas = seed % 2,
                                     .hardware = &hardware};
        expect_success(branch_graph_works(&graph, SIZES, &problem.work));
        const bool *joint = random_joint(&random, problem.work[0]->node_count);
        problem.joint = joint;
        const ons_graphpipe_options options = {.paces = seed % 3 == 0 ? ONS_PACE_EQUAL : ONS_PACE_FREE};
        expect_success(ons_graphpipe_search(&problem, &options, arena, &found));
        cr_assert(found.feasible || problem.most_replicas == 1, "seed %lu", seed);
        if (!found.feasible) continue; /* fewer nodes than devices, or in a row that cannot be cut so often */
        const ons_stage_graph *g = &found.graph;
        expect_success(ons_status_at(ons_stage_graph_check(g, problem.work[0], arena), "seed %lu", seed));
        several += g->stage_count > 1;
        for (uint32_t i = 0; i < g->stage_count; ++i) {
            smaller += g->stages[i].pace.samples < BATCH;
            if (!has_joint(g, i, joint)) continue;
            cr_expect_eq(g->stages[i].pace.samples, BATCH, "seed %lu, stage %u", seed, i);
            cr_expect_eq(g->stages[i].replicas, 1, "seed %lu, stage %u", seed, i);
        }
    }
    cr_expect(smaller > 30 && several > 60, "%u and %u", smaller, several);
}

/* Two towers of equal nodes whose times grow with the samples: they work in micro-batches, and their head waits for
 * all. */
Test(joint_stages, towers_before_a_barrier_keep_their_micro_batches) {
    enum { DEVICES = 5 };
    branch_graph towers;
    expect_success(two_towers(2, 0, arena, &towers));
    for (uint32_t i = 0; i < towers.count; ++i) towers.nodes[i].seconds = 0.001;
    const ons_workload *const *works;
    expect_success(branch_graph_works(&towers, SIZES, &works));
    bool joint[DEVICES] = {false, false, false, false, true};
    cr_assert_eq(works[0]->node_count, DEVICES);
    const ons_stage_choice choice = {.sizes = true, .works = works, .work_count = SIZES, .joint = joint};
    const ons_planning_problem p = {.work = works[0],
                                    .memory = ons_memory_strategy_find("none"),
                                    .choice = &choice,
                                    .pipeline = {&ons_generator_one_f_one_b, DEVICES, BATCH, 0, 1}};
    ons_planned planned;
    expect_success(ons_planner_search(&p, ons_partition_strategy_find("graphpipe"), arena, &planned));
    cr_assert(planned.partition.feasible);
    const ons_schedule *schedule = planned.problem.schedule;
    cr_assert_eq(schedule->stages, DEVICES);
    for (uint32_t i = 0; i < DEVICES; ++i) {
        uint32_t size = ons_schedule_grouping(schedule, i).size;
        cr_expect(i + 1 < DEVICES ? size < BATCH : size == BATCH, "stage %u takes %u at once", i, size);
        cr_expect(i + 1 == DEVICES || schedule->loads[i].in_flight * size == BATCH, "stage %u", i);
    }
}
