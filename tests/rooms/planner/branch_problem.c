#include "tests/rooms/planner/branch_problem.h"

ons_status *random_branch_problem(uint64_t seed, uint32_t nodes, uint32_t devices, bool series_parallel,
                                  ons_arena *arena, branch_problem *s) {
    random_source random = {seed * 77};
    *s = (branch_problem){.problem = {.batch = 0}};
    ONS_TRY(series_parallel ? random_series_parallel(seed, nodes, arena, &s->graph)
                            : random_dependencies(seed, nodes, arena, &s->graph));
    s->problem =
        (ons_graph_problem){.sizes = BRANCH_PROBLEM_SIZES, .batch = 16, .devices = devices, .hardware = &s->hardware};
    ONS_TRY(branch_graph_works(&s->graph, BRANCH_PROBLEM_SIZES, &s->problem.work));
    if (random_chance(&random, 0.5)) {
        s->hardware.link_bandwidth = random_between(&random, 1e6, 1e9, true);
        s->hardware.link_latency = 1e-5;
    }
    const ons_workload *work = s->problem.work[2];
    ons_stage_memory all;
    const ons_stage_load load = {.in_flight = 2, .versions = 1, .accumulates = true};
    ons_work_stage_memory(work, 0, work->node_count, &load, &all);
    if (random_chance(&random, 0.7))
        s->hardware.capacity_bytes = (int64_t)((double)all.total * random_between(&random, 0.2, 1, false));
    return NULL;
}
