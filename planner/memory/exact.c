/* Everything that can be decided, by branch and bound: the yardstick of other strategies. A stage only gets slower when
 * one more tensor is swapped or recomputed, so a branch that is as slow as the best found, with all that is undecided
 * kept, is given up. */
#include <math.h>
#include <string.h>

#include "planner/memory/stage.h"

enum { MOST_CANDIDATES = 12 };

typedef struct enumeration {
    ons_memory_workspace *w;
    uint8_t *current, *best;
    ons_prefetch prefetch, best_prefetch;
    double best_seconds; /* infinite: nothing fits yet */
    int64_t best_total, least;
} enumeration;

/* Decides the candidates from `next` on in every way, each set of decisions once: those in front of the last one
 * decided are not looked at again. */
static void enumerate(enumeration *e, uint32_t next) {
    ons_memory_workspace *w = e->w;
    ons_walk walk;
    ons_stage_walk(w, e->current, e->prefetch, &walk);
    if (walk.total < e->least) e->least = walk.total;
    bool fits = walk.total <= w->problem->capacity_bytes;
    if (fits && (walk.seconds < e->best_seconds || (walk.seconds == e->best_seconds && walk.total < e->best_total))) {
        e->best_seconds = walk.seconds;
        e->best_total = walk.total;
        e->best_prefetch = e->prefetch;
        memcpy(e->best, e->current, w->tensor_count);
    }
    if (walk.seconds > e->best_seconds || (fits && walk.seconds == e->best_seconds)) return;
    for (uint32_t i = next; i < w->candidate_count; ++i) {
        uint32_t t = w->candidates[i];
        for (int decision = ONS_SWAP; decision <= ONS_RECOMPUTE; ++decision) {
            if (decision == ONS_SWAP ? !w->tensors[t].can_swap : !w->tensors[t].can_recompute) continue;
            e->current[t] = (uint8_t)decision;
            enumerate(e, i + 1);
            e->current[t] = ONS_KEEP;
        }
    }
}

ons_status *ons_memory_solve_exact(const ons_stage_problem *problem, ons_memory_workspace *w, ons_arena *arena,
                                   ons_stage_solution *solution) {
    if (ons_stage_fits(w, problem, solution)) return NULL;
    ONS_CHECK(w->candidate_count <= MOST_CANDIDATES, ONS_UNSUPPORTED,
              "memory strategy 'exact': the stage [%u, %u) has %u saved tensors to decide about, and more than %d take "
              "too long; use 'capuchin', or more stages",
              problem->first, problem->end, w->candidate_count, MOST_CANDIDATES);
    enumeration e = {
        .w = w, .current = w->decisions[1], .best = w->decisions[2], .best_seconds = INFINITY, .least = INT64_MAX};
    memset(e.current, ONS_KEEP, w->tensor_count);
    bool swaps = problem->host_bandwidth > 0;
    for (e.prefetch = ONS_PREFETCH_HIDDEN; e.prefetch <= (swaps ? ONS_PREFETCH_NEVER : ONS_PREFETCH_HIDDEN);
         ++e.prefetch)
        enumerate(&e, 0);
    if (isinf(e.best_seconds)) {
        ons_stage_refuse(w, e.least, solution);
        return NULL;
    }
    return ons_stage_close(w, e.best, e.best_prefetch, arena, solution);
}
