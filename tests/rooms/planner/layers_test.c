/* Memory strategies of whole layers: layers are indeed kept, swapped or recomputed as a whole. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/rooms/planner/random_stage.h"

static ons_arena *arena;

static void make_arena(void) { arena = ons_arena_new(); }
static void free_arena(void) { ons_arena_free(arena); }

TestSuite(layers, .init = make_arena, .fini = free_arena);

static void expect_success(ons_status *status) {
    cr_assert(status == NULL, "%s", status != NULL ? ons_status_get_message(status) : "");
}

static ons_stage_solution solve(random_stage *stage, const char *name) {
    ons_stage_solution solution;
    expect_success(ons_memory_strategy_find(name)->solve(&stage->problem, stage->workspace, arena, &solution));
    return solution;
}

static uint32_t layer_at(const ons_work_tensor *t, const ons_stage_problem *p) {
    if (t->producer != ONS_NO_NODE && t->producer >= p->first) return p->work->nodes[t->producer].layer;
    for (uint32_t i = 0; i < t->saver_count; ++i)
        if (t->savers[i] >= p->first) return p->work->nodes[t->savers[i]].layer;
    return UINT32_MAX;
}

static bool is_saved_within(const ons_work_tensor *t, const ons_stage_problem *p) {
    bool saved = false;
    for (uint32_t i = 0; i < t->saver_count; ++i) saved = saved || (t->savers[i] >= p->first && t->savers[i] < p->end);
    return saved && (t->producer == ONS_NO_NODE || t->producer < p->end);
}

/* In a layer either nothing is swapped, or whatever its backward part needs; nothing recomputed leaves its layer. */
static void check_whole(const random_stage *stage, const ons_stage_solution *s, uint64_t seed) {
    const ons_stage_problem *p = &stage->problem;
    const ons_workload *work = p->work;
    uint8_t *decisions = calloc(work->tensor_count + 1, 1);
    bool *swapped = calloc(work->layer_count + 1, sizeof *swapped), *not = calloc(work->layer_count + 1, sizeof *not );
    for (uint32_t i = 0; i < s->decision_count; ++i)
        decisions[s->decisions[i].tensor] = (uint8_t)s->decisions[i].decision;
    for (uint32_t i = 0; i < work->tensor_count; ++i) {
        const ons_work_tensor *t = &work->tensors[i];
        if (!is_saved_within(t, p) || t->bytes == 0) continue;
        uint32_t layer = layer_at(t, p);
        *(decisions[i] == ONS_SWAP ? &swapped[layer] : &not [layer]) = true;
        for (uint32_t r = 0; decisions[i] == ONS_RECOMPUTE && r < t->reader_count; ++r)
            cr_assert_eq(work->nodes[t->readers[r]].layer, layer, "seed %llu, tensor %u", (unsigned long long)seed, i);
    }
    for (uint32_t i = 0; i < work->layer_count; ++i)
        cr_assert(!swapped[i] || !not [i], "seed %llu: layer %u is swapped in part", (unsigned long long)seed, i);
    free(decisions);
    free(swapped);
    free(not );
}

Test(layers, stay_whole) {
    int decided = 0;
    for (uint64_t seed = 1; seed <= 60; ++seed)
        for (int percent = 40; percent < 100; percent += 15) {
            random_stage stage;
            expect_success(random_stage_make_large(seed, 40, percent / 100.0, arena, &stage));
            ons_stage_solution s = solve(&stage, "vpipe-layers");
            /* The last resort also swaps what leaves recomputed layers; it is not by whole layers. */
            bool mixed = false;
            for (uint32_t i = 0; i < s.decision_count; ++i) mixed = mixed || s.decisions[i].decision == ONS_RECOMPUTE;
            if (s.feasible && !mixed) check_whole(&stage, &s, seed);
            decided += s.decision_count > 0;
            random_stage_free(&stage);
        }
    cr_expect_gt(decided, 60);
}

/* Without a link to the host both recompute; vpipe no more layers than it needs. */
Test(layers, vpipe_recomputes_no_more_than_all) {
    int less = 0, both = 0;
    for (uint64_t seed = 1; seed <= 100; ++seed) {
        random_stage stage;
        expect_success(random_stage_make_large(seed, 40, 0.85, arena, &stage));
        stage.problem.host_bandwidth = 0;
        ons_stage_solution all = solve(&stage, "recompute-layers"), some = solve(&stage, "vpipe-layers");
        for (uint32_t i = 0; i < some.decision_count; ++i) cr_assert_eq(some.decisions[i].decision, ONS_RECOMPUTE);
        if (some.feasible) check_whole(&stage, &some, seed);
        if (all.feasible && some.feasible) {
            ++both;
            less += some.seconds < all.seconds;
        }
        random_stage_free(&stage);
    }
    cr_expect(both > 20 && less * 2 > both, "%d of %d", less, both);
}

/* Eight nodes of 1000 bytes in one layer each (uniform_work has a layer for every four): inner results go, borders
 * stay. */
Test(layers, by_hand) {
    random_stage stage = {0};
    expect_success(uniform_work_make(8, arena, &stage.work));
    expect_success(ons_memory_workspace_new(&stage.work, &stage.workspace));
    stage.problem =
        (ons_stage_problem){.work = &stage.work, .end = 8, .load = {4, 1, true, false}, .capacity_bytes = 1};
    ons_stage_solution none = solve(&stage, "none"), layers;
    stage.problem.capacity_bytes = none.least_bytes - 1;
    layers = solve(&stage, "vpipe-layers");
    cr_assert(layers.feasible);
    cr_expect_leq(layers.decision_count, 3u, "one layer is enough: %u", layers.decision_count);
    cr_expect_gt(layers.decision_count, 0u);
    uint32_t layer = stage.work.nodes[stage.work.tensors[layers.decisions[0].tensor].producer].layer;
    for (uint32_t i = 0; i < layers.decision_count; ++i) {
        const ons_work_tensor *t = &stage.work.tensors[layers.decisions[i].tensor];
        cr_expect_eq(stage.work.nodes[t->producer].layer, layer);
        cr_expect(t->producer % 4 != 3, "what leaves the layer stays");
    }
    ons_memory_workspace_free(stage.workspace);
}

/* Whatever a strategy of layers can make fit, capuchin can: what it needs least is never more, and it fits then. */
Test(layers, capuchin_never_needs_more) {
    static const char *const others[] = {"none", "recompute-all", "recompute-stage", "recompute-layers",
                                         "vpipe-layers"};
    for (uint64_t seed = 1; seed <= 240; ++seed) {
        random_stage stage;
        expect_success(random_stage_make_large(seed, 12 + (uint32_t)(seed * 7 % 90), 0.5, arena, &stage));
        if (seed % 5 == 0) stage.problem.host_bandwidth = 0;
        if (seed % 3 == 0) stage.problem.load.forward_first = true;
        stage.problem.load.in_flight = 1 + (uint32_t)seed % 6;
        stage.problem.capacity_bytes = 1;
        int64_t least = solve(&stage, "capuchin").least_bytes;
        for (size_t i = 0; i < sizeof others / sizeof *others; ++i) {
            stage.problem.capacity_bytes = 1;
            ons_stage_solution other = solve(&stage, others[i]);
            cr_expect_leq(least, other.least_bytes, "seed %llu: capuchin needs %lld bytes, %s %lld",
                          (unsigned long long)seed, (long long)least, others[i], (long long)other.least_bytes);
            stage.problem.capacity_bytes = other.least_bytes;
            cr_expect(solve(&stage, "capuchin").feasible, "seed %llu, %s", (unsigned long long)seed, others[i]);
        }
        random_stage_free(&stage);
    }
}
