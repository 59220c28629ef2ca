/* Checkpointing in segments (Chen et al., 2016), on the stage's own liveness: everything that can be computed again is,
 * but for what lies over the cuts between segments. One segment needs little while a micro-batch waits and everything
 * while it runs; many need the contrary. */
#include <string.h>

#include "planner/memory/stage.h"

static uint32_t last_need(const ons_stage_tensor *t) {
    return t->last_read != ONS_NO_NODE && t->last_read > t->last_saver ? t->last_read : t->last_saver;
}

/* Bytes of candidates over the cut in front of each position. */
static void find_crossing(ons_memory_workspace *w) {
    memset(w->crossing, 0, (w->node_count + 1) * sizeof *w->crossing);
    for (uint32_t i = 0; i < w->candidate_count; ++i) {
        const ons_stage_tensor *t = &w->tensors[w->candidates[i]];
        if (!t->can_recompute || last_need(t) <= t->producer) continue;
        w->crossing[t->producer + 1] += t->bytes;
        w->crossing[last_need(t) + 1] -= t->bytes;
    }
    for (uint32_t i = 1; i <= w->node_count; ++i) w->crossing[i] += w->crossing[i - 1];
}

static int64_t recomputed_bytes(const ons_memory_workspace *w) {
    int64_t bytes = 0;
    for (uint32_t i = 0; i < w->candidate_count; ++i) {
        const ons_stage_tensor *t = &w->tensors[w->candidates[i]];
        if (t->can_recompute) bytes += t->bytes;
    }
    return bytes;
}

/* The thinnest cut near `position`. */
static uint32_t thin_cut(const ons_memory_workspace *w, uint32_t position, uint32_t reach) {
    uint32_t low = position > reach + 1 ? position - reach : 1, high = position + reach, best = position;
    if (high >= w->node_count) high = w->node_count - 1;
    for (uint32_t i = low; i <= high; ++i) {
        if (w->crossing[i] < w->crossing[best]) best = i;
    }
    return best;
}

/* boundary[i]: the first cut after position i, or node_count. Segments save about the same bytes each. */
static void place_cuts(ons_memory_workspace *w, uint32_t segments, int64_t total) {
    uint32_t reach = w->node_count / (4 * segments), done = 0, cut = 1;
    int64_t sum = 0;
    uint32_t next = 0;
    for (uint32_t position = 0; position < w->node_count && cut < segments; ++position) {
        for (; next < w->candidate_count; ++next) {
            const ons_stage_tensor *t = &w->tensors[w->candidates[next]];
            if (t->producer != ONS_NO_NODE && t->producer > position) break;
            if (t->can_recompute) sum += t->bytes;
        }
        if ((double)sum * segments < (double)total * cut) continue;
        while (cut < segments && (double)sum * segments >= (double)total * cut) ++cut;
        uint32_t at = position + 1 < w->node_count ? thin_cut(w, position + 1, reach) : w->node_count;
        for (; done < at; ++done) w->boundary[done] = at;
    }
    for (; done < w->node_count; ++done) w->boundary[done] = w->node_count;
}

/* A tensor that is needed within its segment alone is made again there; what lies over the segment's end is kept, or
 * swapped. */
static void decide(const ons_memory_workspace *w, bool swap, uint8_t *decisions) {
    memset(decisions, ONS_KEEP, w->tensor_count);
    for (uint32_t i = 0; i < w->candidate_count; ++i) {
        uint32_t index = w->candidates[i];
        const ons_stage_tensor *t = &w->tensors[index];
        if (t->can_recompute && w->boundary[t->producer] > last_need(t))
            decisions[index] = ONS_RECOMPUTE;
        else if (swap && t->can_swap)
            decisions[index] = ONS_SWAP;
    }
}

static uint32_t next_count(uint32_t segments) {
    bool power = (segments & (segments - 1)) == 0;
    return segments == 1 ? 2 : power ? segments + segments / 2 : segments / 3 * 4;
}

void ons_stage_recompute_all(ons_memory_workspace *w, bool swap, ons_prefetch prefetch, uint8_t *best, uint8_t *scratch,
                             ons_walk *best_walk) {
    int64_t total = recomputed_bytes(w);
    find_crossing(w);
    /* 1, 2, 3, 4, 6, 8, 12, 16, … segments: each power of two, and half as many more. */
    for (uint32_t segments = 1; segments <= w->node_count; segments = next_count(segments)) {
        ons_walk walk;
        place_cuts(w, segments, total);
        decide(w, swap, scratch);
        ons_stage_walk(w, scratch, prefetch, &walk);
        if (segments == 1 || walk.total < best_walk->total) {
            *best_walk = walk;
            memcpy(best, scratch, w->tensor_count);
        }
    }
}

ons_status *ons_memory_solve_recompute_all(const ons_stage_problem *problem, ons_memory_workspace *w, ons_arena *arena,
                                           ons_stage_solution *solution) {
    ons_walk walk;
    if (ons_stage_fits(w, problem, solution)) return NULL;
    int64_t kept = solution->memory.total;
    ons_stage_recompute_all(w, false, ONS_PREFETCH_HIDDEN, w->decisions[1], w->decisions[2], &walk);
    if (walk.total > kept) memset(w->decisions[1], ONS_KEEP, w->tensor_count);
    return ons_stage_close(w, w->decisions[1], ONS_PREFETCH_HIDDEN, arena, solution);
}
