/* Memory strategies on random stages: against ons_memory_evaluate, against trying everything, and against more memory.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/rooms/planner/random_stage.h"

enum { STAGES = 600, CANDIDATES = 9 };

static ons_arena *arena;

static void make_arena(void) { arena = ons_arena_new(); }
static void free_arena(void) { ons_arena_free(arena); }

TestSuite(memory, .init = make_arena, .fini = free_arena);

static void renew_arena(void) {
    ons_arena_free(arena);
    arena = ons_arena_new();
}

static void expect_success(ons_status *status) {
    cr_assert(status == NULL, "%s", status != NULL ? ons_status_get_message(status) : "");
}

static void expect_refusal(ons_status *status, ons_status_code code, const char *part) {
    cr_assert_not_null(status, "expected a failure with '%s'", part);
    cr_expect(ons_status_get_code(status) == code);
    cr_expect(strstr(ons_status_get_message(status), part) != NULL, "'%s' lacks '%s'", ons_status_get_message(status),
              part);
    ons_status_free(status);
}

static ons_stage_solution solve(random_stage *stage, const char *name) {
    ons_stage_solution solution;
    const ons_memory_strategy *strategy = ons_memory_strategy_find(name);
    cr_assert_not_null(strategy);
    expect_success(strategy->solve(&stage->problem, stage->workspace, arena, &solution));
    return solution;
}

static ons_stage_solution evaluate(random_stage *stage, const ons_tensor_decision *decisions, uint32_t count) {
    ons_stage_solution solution;
    expect_success(ons_memory_evaluate(&stage->problem, decisions, count, stage->workspace, &solution));
    return solution;
}

static bool close_to(double a, double b) { return fabs(a - b) <= 1e-9 * (fabs(a) + fabs(b)); }

/* ------------------------------------------------------------------------------------------------------- strategies */

Test(memory, strategies_are_found_by_name) {
    for (const ons_memory_strategy *const *s = ons_memory_strategies; *s != NULL; ++s) {
        cr_expect_eq(ons_memory_strategy_find((*s)->name), *s);
        cr_expect(strlen((*s)->summary) > 10);
    }
    cr_expect_null(ons_memory_strategy_find("vdnn"));
}

/* What a strategy says of its decisions is what ons_memory_evaluate says of them; nothing is over the capacity. */
static void check_solution(random_stage *stage, const ons_stage_solution *s, const char *name, uint64_t seed) {
    int64_t capacity = stage->problem.capacity_bytes;
    if (!s->feasible) {
        cr_assert_gt(s->least_bytes, capacity, "%s, seed %llu", name, (unsigned long long)seed);
        return;
    }
    cr_assert_leq(s->memory.total, capacity, "%s, seed %llu", name, (unsigned long long)seed);
    cr_assert(s->seconds >= stage->seconds * (1 - 1e-9), "%s, seed %llu", name, (unsigned long long)seed);
    cr_assert(close_to(s->seconds, stage->seconds + s->recompute_seconds + s->stall_seconds));
    ons_stage_solution evaluated = evaluate(stage, s->decisions, s->decision_count);
    cr_assert_leq(evaluated.memory.total, s->memory.total, "%s, seed %llu", name, (unsigned long long)seed);
    if (s->decision_count > 0) {
        cr_assert_eq(evaluated.memory.total, s->memory.total, "%s, seed %llu", name, (unsigned long long)seed);
    }
    cr_assert(close_to(evaluated.seconds, s->seconds), "%s, seed %llu: %g, judged %g", name, (unsigned long long)seed,
              s->seconds, evaluated.seconds);
    const ons_stage_memory *m = &s->memory;
    cr_assert_eq(m->total, m->weights + m->gradients + m->states + m->versions + m->stash + m->peak + m->transfers);
}

static void check_decisions(const random_stage *stage, const ons_stage_solution *s, uint64_t seed) {
    const ons_stage_problem *p = &stage->problem;
    for (uint32_t i = 0; i < s->decision_count; ++i) {
        const ons_tensor_decision *d = &s->decisions[i];
        const ons_work_tensor *t = &p->work->tensors[d->tensor];
        uint32_t last_saver = 0;
        for (uint32_t j = 0; j < t->saver_count; ++j) {
            if (t->savers[j] >= p->first && t->savers[j] < p->end) last_saver = t->savers[j];
        }
        bool here = t->producer != ONS_NO_NODE && t->producer >= p->first;
        cr_assert(d->in_before >= last_saver && d->in_before < p->end, "seed %llu", (unsigned long long)seed);
        cr_assert(d->out_after >= (here ? t->producer : p->first) && d->out_after < p->end);
        cr_assert(d->decision == ONS_SWAP ? p->host_bandwidth > 0 : here && p->work->nodes[t->producer].recomputable);
    }
}

Test(memory, solutions_are_what_the_judge_says) {
    static const char *names[] = {
        "none", "recompute-all", "capuchin", "exact", "recompute-stage", "recompute-layers", "vpipe-layers"};
    for (uint64_t seed = 1; seed <= 300; ++seed) {
        random_stage stage;
        renew_arena();
        expect_success(random_stage_make(seed, 6, arena, &stage));
        for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
            ons_stage_solution s = solve(&stage, names[i]);
            check_solution(&stage, &s, names[i], seed);
            check_decisions(&stage, &s, seed);
            if (i == 0) cr_assert_eq(s.decision_count, 0);
        }
        random_stage_free(&stage);
    }
}

/* A strategy that is given what it asked for can do it, and asks for no more than one that may decide less. */
Test(memory, least_bytes_are_enough) {
    static const char *names[] = {
        "none", "recompute-all", "capuchin", "exact", "recompute-stage", "recompute-layers", "vpipe-layers"};
    for (uint64_t seed = 1; seed <= 200; ++seed) {
        random_stage stage;
        renew_arena();
        int64_t before = INT64_MAX;
        expect_success(random_stage_make(seed, 6, arena, &stage));
        for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
            stage.problem.capacity_bytes = 1;
            ons_stage_solution refused = solve(&stage, names[i]);
            cr_assert_not(refused.feasible);
            /* From "none" to "exact", each may decide more than the one before it; layers are a choice of their own. */
            if (i < 4) cr_assert_leq(refused.least_bytes, before, "%s, seed %llu", names[i], (unsigned long long)seed);
            before = refused.least_bytes;
            stage.problem.capacity_bytes = refused.least_bytes;
            ons_stage_solution enough = solve(&stage, names[i]);
            cr_assert(enough.feasible, "%s, seed %llu", names[i], (unsigned long long)seed);
            stage.problem.capacity_bytes = refused.least_bytes - 1;
            ons_stage_solution short_of = solve(&stage, names[i]);
            cr_assert_not(short_of.feasible, "%s, seed %llu", names[i], (unsigned long long)seed);
            cr_assert_eq(short_of.least_bytes, refused.least_bytes, "%s, seed %llu", names[i],
                         (unsigned long long)seed);
        }
        random_stage_free(&stage);
    }
}

Test(memory, without_a_limit_nothing_is_decided) {
    random_stage stage;
    expect_success(random_stage_make(7, 12, arena, &stage));
    stage.problem.capacity_bytes = 0;
    for (const ons_memory_strategy *const *strategy = ons_memory_strategies; *strategy != NULL; ++strategy) {
        ons_stage_solution s = solve(&stage, (*strategy)->name);
        cr_expect(s.feasible);
        cr_expect_eq(s.decision_count, 0);
        cr_expect_eq(s.memory.total, stage.kept.total);
        cr_expect(close_to(s.seconds, stage.seconds));
    }
    random_stage_free(&stage);
}

/* Property 12 of planning: a sweep of capacities from too little to enough. */
static void sweep(random_stage *stage, const char *name, uint64_t seed, int steps) {
    double before = INFINITY;
    int64_t least = 0;
    for (int i = 0; i <= steps; ++i) {
        stage->problem.capacity_bytes = stage->kept.total * (i + 1) / (steps + 1);
        ons_stage_solution s = solve(stage, name);
        cr_assert(s.feasible || isinf(before), "%s, seed %llu: fits less memory alone", name, (unsigned long long)seed);
        if (!s.feasible) {
            cr_assert(least == 0 || least == s.least_bytes, "%s, seed %llu", name, (unsigned long long)seed);
            least = s.least_bytes;
            continue;
        }
        cr_assert(s.seconds <= before, "%s, seed %llu: %.17g s with more memory, %.17g s with less", name,
                  (unsigned long long)seed, s.seconds, before);
        before = s.seconds;
    }
}

Test(memory, more_memory_is_never_slower) {
    for (uint64_t seed = 1; seed <= 100; ++seed) {
        random_stage stage;
        renew_arena();
        expect_success(random_stage_make(seed, 9, arena, &stage));
        stage.problem.load.forward_first = seed % 4 == 1;
        sweep(&stage, "capuchin", seed, 40);
        sweep(&stage, "recompute-all", seed, 10);
        random_stage_free(&stage);
    }
    for (uint64_t seed = 1; seed <= 20; ++seed) {
        random_stage stage;
        renew_arena();
        expect_success(random_stage_make_large(seed, 30 + 4 * (uint32_t)seed, 1, arena, &stage));
        stage.problem.load.in_flight = 1 + (uint32_t)(seed % 4);
        stage.problem.load.forward_first = seed % 4 != 0 && seed % 8 < 4;
        if (seed % 5 == 0) stage.problem.host_bandwidth = 0;
        if (seed % 3 == 0) stage.problem.host_bandwidth *= 6;
        sweep(&stage, "capuchin", seed, 50);
        random_stage_free(&stage);
    }
}

/* ------------------------------------------------------------------------------------------------ the best possible */

/* All sets of decisions with copies hidden where they can be, without bounds, by ons_memory_evaluate alone. */
static void try_all(random_stage *stage, const ons_stage_solution *exact, ons_tensor_decision *all, uint32_t count,
                    ons_tensor_decision *chosen, uint32_t chosen_count, double *best) {
    if (count == 0) {
        ons_stage_solution s = evaluate(stage, chosen, chosen_count);
        if (s.feasible && s.seconds < *best) *best = s.seconds;
        return;
    }
    try_all(stage, exact, all + 1, count - 1, chosen, chosen_count, best);
    chosen[chosen_count] = all[0];
    try_all(stage, exact, all + 1, count - 1, chosen, chosen_count + 1, best);
}

/* Recomputation alone has no choice of triggers, so the enumeration is complete. */
Test(memory, exact_is_the_best_of_all) {
    for (uint64_t seed = 1; seed <= 300; ++seed) {
        random_stage stage;
        ons_tensor_decision all[16], chosen[16];
        uint32_t count = 0;
        double best = INFINITY;
        renew_arena();
        expect_success(random_stage_make(seed, 8, arena, &stage));
        const ons_stage_problem *p = &stage.problem;
        stage.problem.host_bandwidth = 0;
        for (uint32_t i = 0; i < p->work->tensor_count; ++i) {
            const ons_work_tensor *t = &p->work->tensors[i];
            if (t->producer == ONS_NO_NODE || t->producer < p->first || t->producer >= p->end) continue;
            uint32_t last = ONS_NO_NODE;
            for (uint32_t j = 0; j < t->saver_count; ++j) {
                if (t->savers[j] < p->end) last = t->savers[j];
            }
            if (last == ONS_NO_NODE || !p->work->nodes[t->producer].recomputable) continue;
            all[count++] = (ons_tensor_decision){i, ONS_RECOMPUTE, p->first, last, ONS_NO_NODE};
        }
        ons_stage_solution exact = solve(&stage, "exact");
        try_all(&stage, &exact, all, count, chosen, 0, &best);
        cr_assert_eq(exact.feasible, !isinf(best), "seed %llu", (unsigned long long)seed);
        if (exact.feasible)
            cr_assert(close_to(exact.seconds, best), "seed %llu: %g, not %g", (unsigned long long)seed, exact.seconds,
                      best);
        random_stage_free(&stage);
    }
}

Test(memory, capuchin_is_close_to_exact) {
    uint32_t compared = 0, optimal = 0, unsolved = 0;
    uint64_t worst_seed = 0;
    double sum = 0, worst = 0;
    for (uint64_t seed = 1; compared < STAGES; ++seed) {
        random_stage stage;
        renew_arena();
        expect_success(random_stage_make(seed, CANDIDATES, arena, &stage));
        ons_stage_solution exact = solve(&stage, "exact"), found = solve(&stage, "capuchin");
        random_stage_free(&stage);
        cr_assert(exact.feasible || !found.feasible, "seed %llu", (unsigned long long)seed);
        unsolved += exact.feasible && !found.feasible;
        if (!exact.feasible || !found.feasible) continue;
        double gap = found.seconds / exact.seconds - 1;
        cr_assert(gap > -1e-9, "seed %llu: faster than the best", (unsigned long long)seed);
        ++compared;
        optimal += gap < 1e-9;
        sum += gap;
        if (gap > worst) {
            worst = gap;
            worst_seed = seed;
        }
    }
    printf("capuchin against exact, seeds from 1: %u stages, %u optimal, mean gap %.3f %%, worst %.2f %% (seed %llu); "
           "%u more not solved\n",
           compared, optimal, 100 * sum / compared, 100 * worst, (unsigned long long)worst_seed, unsolved);
    cr_expect(sum / compared <= 0.01);
    cr_expect(unsolved <= compared / 100);
}

Test(memory, exact_refuses_what_takes_too_long) {
    random_stage stage;
    ons_stage_solution solution;
    expect_success(random_stage_make_large(1, 60, 0.5, arena, &stage));
    expect_refusal(ons_memory_strategy_find("exact")->solve(&stage.problem, stage.workspace, NULL, &solution),
                   ONS_UNSUPPORTED, "use 'capuchin'");
    random_stage_free(&stage);
}

/* ---------------------------------------------------------------------------------------------- ons_memory_evaluate */

static void open_uniform(random_stage *stage, uint32_t nodes, uint32_t in_flight) {
    *stage = (random_stage){0};
    expect_success(uniform_work_make(nodes, arena, &stage->work));
    stage->problem = (ons_stage_problem){
        .work = &stage->work,
        .end = nodes,
        .load = {in_flight, 1, true, false},
        .host_bandwidth = 1e6, /* 1 ms a tensor */
    };
    expect_success(ons_memory_workspace_new(&stage->work, &stage->workspace));
}

/* Four nodes of 1 ms forward and 2 ms backward; t0, t1 and t2 are saved by the node that follows. */
Test(memory, judge_by_hand) {
    random_stage stage;
    open_uniform(&stage, 4, 3);
    ons_stage_solution s = evaluate(&stage, NULL, 0);
    cr_expect(close_to(s.seconds, 12e-3));
    cr_expect_eq(s.memory.stash, 6000);
    cr_expect_eq(s.memory.peak, 5000); /* backward of n3: t0, t1, t2, gradients of t2 and t3 */

    ons_tensor_decision again = {1, ONS_RECOMPUTE, 2, 2, ONS_NO_NODE};
    s = evaluate(&stage, &again, 1);
    cr_expect(close_to(s.recompute_seconds, 1e-3));
    cr_expect_eq(s.memory.stash, 4000);
    cr_expect_eq(s.memory.peak, 4000); /* backward of n3 without t1; of n2: t0, t1, gradients of t1 and t2 */

    ons_tensor_decision both[] = {{0, ONS_RECOMPUTE, 1, 1, ONS_NO_NODE}, {1, ONS_RECOMPUTE, 2, 2, ONS_NO_NODE}};
    s = evaluate(&stage, both, 2);
    cr_expect(close_to(s.recompute_seconds, 2e-3)); /* each node once: t0 is made for t1 and stays */
    cr_expect_eq(s.memory.stash, 2000);
    cr_expect_eq(s.memory.peak, 4000);

    /* t0 leaves while n1 runs, and is back when the backward part of n1 starts: the copy takes half of that of n2. */
    ons_tensor_decision swap = {0, ONS_SWAP, 0, 2, ONS_NO_NODE};
    s = evaluate(&stage, &swap, 1);
    cr_expect_eq(s.stall_seconds, 0);
    cr_expect_eq(s.memory.stash, 4000);
    cr_expect_eq(s.memory.peak, 4000);
    swap.in_before = 1; /* too late: 1 ms is waited */
    s = evaluate(&stage, &swap, 1);
    cr_expect(close_to(s.stall_seconds, 1e-3));
    cr_expect_eq(s.memory.peak, 4000); /* backward of n3: t1, t2 and two gradients */
    random_stage_free(&stage);
}

/* Two copies of 10 ms do not fit a period of 12 ms, though each is hidden by the micro-batches in between. */
Test(memory, judge_limits_copies_to_the_period) {
    random_stage stage;
    open_uniform(&stage, 4, 8);
    stage.problem.host_bandwidth = 1e5;
    ons_tensor_decision swaps[] = {{0, ONS_SWAP, 0, 3, ONS_NO_NODE}, {1, ONS_SWAP, 1, 3, ONS_NO_NODE}};
    ons_stage_solution s = evaluate(&stage, swaps, 2);
    cr_expect(s.seconds >= 20e-3, "%g", s.seconds);
    stage.problem.period_seconds = 50e-3;
    ons_stage_solution slow = evaluate(&stage, swaps, 2);
    cr_expect(slow.stall_seconds >= 0 && slow.seconds <= s.seconds);
    random_stage_free(&stage);
}

Test(memory, judge_refuses_what_makes_no_sense) {
    static const struct {
        ons_tensor_decision decision;
        const char *part;
    } cases[] = {
        {{99, ONS_SWAP, 0, 1, ONS_NO_NODE}, "tensor 99"},
        {{3, ONS_RECOMPUTE, 3, 3, ONS_NO_NODE}, "no backward part"},
        {{0, ONS_SWAP, 0, 0, ONS_NO_NODE}, "before the backward"},
        {{0, ONS_SWAP, 0, 4, ONS_NO_NODE}, "before the backward"},
        {{0, ONS_SWAP, 4, 1, ONS_NO_NODE}, "after the forward"},
        {{1, ONS_SWAP, 0, 2, ONS_NO_NODE}, "after the forward"},
        {{2, ONS_RECOMPUTE, 2, 3, ONS_NO_NODE}, "cannot be computed again"},
        {{1, (ons_decision)7, 1, 2, ONS_NO_NODE}, "no such decision"},
    };
    random_stage stage;
    open_uniform(&stage, 4, 2);
    stage.work.nodes[2].recomputable = false;
    ons_stage_solution s;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i)
        expect_refusal(ons_memory_evaluate(&stage.problem, &cases[i].decision, 1, stage.workspace, &s),
                       ONS_INVALID_ARGUMENT, cases[i].part);
    ons_tensor_decision twice[] = {{0, ONS_SWAP, 0, 1, ONS_NO_NODE}, {0, ONS_SWAP, 0, 1, ONS_NO_NODE}};
    expect_refusal(ons_memory_evaluate(&stage.problem, twice, 2, stage.workspace, &s), ONS_INVALID_ARGUMENT, "twice");
    stage.problem.host_bandwidth = 0;
    expect_refusal(ons_memory_evaluate(&stage.problem, twice, 1, stage.workspace, &s), ONS_INVALID_ARGUMENT, "no link");
    stage.problem.first = 2;
    ons_tensor_decision elsewhere = {0, ONS_RECOMPUTE, 2, 2, ONS_NO_NODE};
    expect_refusal(ons_memory_evaluate(&stage.problem, &elsewhere, 1, stage.workspace, &s), ONS_INVALID_ARGUMENT,
                   "no node of the stage");
    random_stage_free(&stage);
}
