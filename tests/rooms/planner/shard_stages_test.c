#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include "base/clock.h"
#include "planner/search/shard_stages.h"
#include "tests/rooms/planner/shard_work.h"

static ons_arena *arena;
static void make_arena(void) { arena = ons_arena_new(); }
static void free_arena(void) { ons_arena_free(arena); }
TestSuite(shard_stages, .init = make_arena, .fini = free_arena);
static void expect_success(ons_status *status) {
    cr_assert(status == NULL, "%s", status != NULL ? ons_status_get_message(status) : "");
}

Test(shard_stages, explore) {
    for (uint32_t devices = 32; devices <= 32; devices *= 2)
      for (uint32_t mb = 4; mb <= 4; mb *= 4)
        for (int links = 0; links < 1; ++links)
          for (double head = 25; head < 30; head *= 5) {
    shard_model m = {.shards = devices, .layers = 4 * devices, .layer_seconds = 1e-3, .table_seconds = 1e-3, .head_seconds = head * 1e-3 * devices / 2,
       .tail_seconds = 1e-5, .unevenness = 0.2, .layer_bytes = 1 << 20, .head_bytes = 16 << 20, .weight_bytes = 1 << 20, .seed = 3};
    shard_work w;
    expect_success(shard_work_make(&m, arena, &w));
    ons_planning_problem p = shard_work_pose(&w, devices, mb);
    if (links) { p.link_bandwidth = 1e10; p.link_latency = 2e-5; }
    ons_shard_stages f;
    double t0 = ons_clock_seconds();
    expect_success(ons_shard_stages_search(&p, arena, &f));
    double t = ons_clock_seconds() - t0;
    double most = 0, all = ons_work_seconds(&w.work, 0, w.work.node_count) / devices * mb;
    for (uint32_t d = 0; d < devices; ++d) {
        double s = 0;
        for (uint32_t i = 0; i < f.planned.partition.stages; ++i)
            if (f.planned.problem.schedule->device_of[i] == d) s += f.planned.solutions[i].seconds * mb;
        if (s > most) most = s;
    }
    ons_planned plain;
    p.shards = NULL;
    p.pipeline.devices = 0;
    m.shards = 1;
    shard_work u;
    expect_success(shard_work_make(&m, arena, &u));
    p.work = &u.work;
    fprintf(stderr, "sharded %g\n", f.step_seconds);
 expect_success(ons_planner_search(&p, ons_partition_strategy_find("auto"), arena, &plain));
    ons_plan plan = {.subject.batch = 1};
    expect_success(ons_planner_fill(&plain, arena, &plan));
    fprintf(stderr, "D %u M %u links %d head %g: step/busy %.3f step/ideal %.3f unsharded/step %.3f  (%.2f s)\n", devices, mb, links, head, f.step_seconds / most, f.step_seconds / all, plan.step_seconds / f.step_seconds, t);
          }
}
