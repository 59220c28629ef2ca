/* Memory optimisation by whole layers, as planners of layers have it: the baselines' own, beside which capuchin's
 * choice by tensor is measured.
 *
 * To swap a layer is to swap everything that its backward part needs, results that later layers read as well. To
 * recompute it is to keep what leaves the layer and to drop what only the layer itself uses; all of it runs again when
 * the layer's backward part begins.
 *
 *   recompute-stage   the whole stage as if it were one layer, which is torchgpipe's way ("checkpoint"): a micro-batch
 *                     that waits needs what arrives alone, the one that runs all of it.
 *   recompute-layers  every layer, or the whole stage: what needs less.
 *   vpipe-layers      vPipe (Zhao et al., TPDS 2022): layers are swapped from the stage's first on, whose backward
 *                     parts are the longest way off, as long as the copies hide behind computation; then recomputed,
 *                     the least time for a byte first, until the stage fits. Where it still does not, everything is
 *                     swapped or recomputed.
 */
#include <math.h>
#include <stdlib.h>

#include "planner/memory/stage.h"

static uint32_t layer_of(const ons_memory_workspace *w, uint32_t local) {
    const ons_work_node *nodes = w->work->nodes + w->problem->first;
    return nodes[local].layer - nodes[0].layer;
}

/* The layer that answers for a tensor: its producer's; of what arrives, its first saver's. */
static uint32_t home_of(const ons_memory_workspace *w, const ons_stage_tensor *t) {
    return layer_of(w, t->producer != ONS_NO_NODE ? t->producer : t->first_saver);
}

/* Nothing outside of the layer reads or saves it. */
static bool is_inner(const ons_memory_workspace *w, const ons_stage_tensor *t) {
    uint32_t last = t->last_use > t->last_saver ? t->last_use : t->last_saver;
    return layer_of(w, last) == layer_of(w, t->producer);
}

static void decide_layer(const ons_memory_workspace *w, uint32_t layer, ons_decision decision, uint8_t *decisions) {
    for (uint32_t i = 0; i < w->candidate_count; ++i) {
        const ons_stage_tensor *t = &w->tensors[w->candidates[i]];
        if (home_of(w, t) != layer) continue;
        bool can = decision == ONS_SWAP ? t->can_swap : decision == ONS_RECOMPUTE && t->can_recompute && is_inner(w, t);
        decisions[w->candidates[i]] = (uint8_t)(can ? decision : ONS_KEEP);
    }
}

static uint32_t layers_in(const ons_memory_workspace *w) { return layer_of(w, w->node_count - 1) + 1; }

/* ------------------------------------------------------------------------------------------------- recompute-layers */

ons_status *ons_memory_solve_recompute_layers(const ons_stage_problem *problem, ons_memory_workspace *w,
                                              ons_arena *arena, ons_stage_solution *solution) {
    ons_walk by_layer, whole;
    if (ons_stage_fits(w, problem, solution)) return NULL;
    int64_t kept = solution->memory.total;
    uint8_t *layers = w->decisions[1], *stage = w->decisions[2], *best = layers;
    memset(layers, ONS_KEEP, w->tensor_count);
    memset(stage, ONS_KEEP, w->tensor_count);
    for (uint32_t i = 0; i < layers_in(w); ++i) decide_layer(w, i, ONS_RECOMPUTE, layers);
    for (uint32_t i = 0; i < w->candidate_count; ++i)
        if (w->tensors[w->candidates[i]].can_recompute) stage[w->candidates[i]] = ONS_RECOMPUTE;
    ons_stage_walk(w, layers, ONS_PREFETCH_HIDDEN, &by_layer);
    ons_stage_walk(w, stage, ONS_PREFETCH_HIDDEN, &whole);
    if (whole.total < by_layer.total) best = stage;
    if (kept < by_layer.total && kept < whole.total) memset(best, ONS_KEEP, w->tensor_count);
    return ons_stage_close(w, best, ONS_PREFETCH_HIDDEN, arena, solution);
}

/* -------------------------------------------------------------------------------------------------- recompute-stage */

ons_status *ons_memory_solve_recompute_stage(const ons_stage_problem *problem, ons_memory_workspace *w,
                                             ons_arena *arena, ons_stage_solution *solution) {
    ons_walk whole;
    if (ons_stage_fits(w, problem, solution)) return NULL;
    int64_t kept = solution->memory.total;
    uint8_t *decisions = w->decisions[1];
    memset(decisions, ONS_KEEP, w->tensor_count);
    for (uint32_t i = 0; i < w->candidate_count; ++i)
        if (w->tensors[w->candidates[i]].can_recompute) decisions[w->candidates[i]] = ONS_RECOMPUTE;
    ons_stage_walk(w, decisions, ONS_PREFETCH_HIDDEN, &whole);
    if (kept < whole.total) memset(decisions, ONS_KEEP, w->tensor_count);
    return ons_stage_close(w, decisions, ONS_PREFETCH_HIDDEN, arena, solution);
}

/* ----------------------------------------------------------------------------------------------------- vpipe-layers */

static int compare_scores(const void *a, const void *b, void *context) {
    const double *score = context;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    if (score[x] != score[y]) return score[x] < score[y] ? -1 : 1;
    return (x > y) - (x < y);
}

/* Layers that recomputing would free something of, by seconds for a byte, in w->boundary. */
static void sort_layers(ons_memory_workspace *w, const uint8_t *decisions, uint32_t *count) {
    double *score = w->layer_score;
    memset(w->crossing, 0, w->node_count * sizeof *w->crossing);
    for (uint32_t i = 0; i < w->candidate_count; ++i) {
        const ons_stage_tensor *t = &w->tensors[w->candidates[i]];
        if (decisions[w->candidates[i]] == ONS_KEEP && t->can_recompute && is_inner(w, t))
            w->crossing[home_of(w, t)] += t->bytes;
    }
    *count = 0;
    for (uint32_t node = 0, end; node < w->node_count; node = end) {
        uint32_t layer = layer_of(w, node);
        for (end = node; end < w->node_count && layer_of(w, end) == layer;) ++end;
        uint32_t first = w->problem->first;
        score[layer] = ons_work_forward_seconds(w->work, first + node, first + end) / (double)w->crossing[layer];
        if (w->crossing[layer] > 0) w->boundary[(*count)++] = layer;
    }
    qsort_r(w->boundary, *count, sizeof *w->boundary, compare_scores, score);
}

/* What tries one set of decisions after the other. */
typedef struct layer_tries {
    ons_memory_workspace *w;
    uint8_t *decisions;
    ons_stage_note *note;
    void *context;
} layer_tries;

static bool walk_decisions(const layer_tries *t, ons_walk *walk) {
    ons_stage_walk(t->w, t->decisions, ONS_PREFETCH_HIDDEN, walk);
    return t->note(t->context, t->decisions, walk);
}

/* As many layers from the front as hide. */
static bool swap_hidden(const layer_tries *t) {
    ons_walk walk;
    for (uint32_t layer = 0; layer < layers_in(t->w); ++layer) {
        decide_layer(t->w, layer, ONS_SWAP, t->decisions);
        bool enough = walk_decisions(t, &walk);
        if (walk.stall_seconds > 1e-9 * walk.seconds) {
            decide_layer(t->w, layer, ONS_KEEP, t->decisions);
            return false;
        }
        if (enough) return true;
    }
    return false;
}

static bool recompute_cheapest(const layer_tries *t) {
    uint32_t count;
    ons_walk walk;
    sort_layers(t->w, t->decisions, &count);
    for (uint32_t i = 0; i < count; ++i) {
        decide_layer(t->w, t->w->boundary[i], ONS_RECOMPUTE, t->decisions);
        if (walk_decisions(t, &walk)) return true;
    }
    return false;
}

/* Everything recomputed; recomputed with what leaves the layers swapped; everything swapped. */
static void try_all(const layer_tries *t) {
    ons_memory_workspace *w = t->w;
    ons_walk walk;
    memset(t->decisions, ONS_KEEP, w->tensor_count);
    for (uint32_t i = 0; i < layers_in(w); ++i) decide_layer(w, i, ONS_RECOMPUTE, t->decisions);
    (void)walk_decisions(t, &walk);
    if (!(w->problem->host_bandwidth > 0)) return;
    for (uint32_t i = 0; i < w->candidate_count; ++i)
        if (t->decisions[w->candidates[i]] == ONS_KEEP && w->tensors[w->candidates[i]].can_swap)
            t->decisions[w->candidates[i]] = ONS_SWAP;
    (void)walk_decisions(t, &walk);
    for (uint32_t i = 0; i < layers_in(w); ++i) decide_layer(w, i, ONS_SWAP, t->decisions);
    (void)walk_decisions(t, &walk);
}

void ons_stage_try_layers(ons_memory_workspace *w, uint8_t *decisions, ons_stage_note *note, void *context) {
    layer_tries t = {w, decisions, note, context};
    memset(decisions, ONS_KEEP, w->tensor_count);
    if (w->problem->host_bandwidth > 0 && swap_hidden(&t)) return;
    if (!recompute_cheapest(&t)) try_all(&t);
}

/* The best so far: the first that fits, later the fastest; else the one that needs least. */
typedef struct vpipe_choice {
    const ons_memory_workspace *w;
    uint8_t *best;
    double seconds;
    int64_t least;
} vpipe_choice;

static bool note_vpipe(void *context, const uint8_t *decisions, const ons_walk *walk) {
    vpipe_choice *c = context;
    if (walk->total < c->least) c->least = walk->total;
    bool fits = walk->total <= c->w->problem->capacity_bytes;
    if (fits && walk->seconds < c->seconds) {
        c->seconds = walk->seconds;
        memcpy(c->best, decisions, c->w->tensor_count);
    }
    return fits;
}

ons_status *ons_memory_solve_vpipe_layers(const ons_stage_problem *problem, ons_memory_workspace *w, ons_arena *arena,
                                          ons_stage_solution *solution) {
    if (ons_stage_fits(w, problem, solution)) return NULL;
    vpipe_choice c = {w, w->decisions[1], INFINITY, solution->memory.total};
    ons_stage_try_layers(w, w->decisions[2], note_vpipe, &c);
    if (isfinite(c.seconds)) return ons_stage_close(w, c.best, ONS_PREFETCH_HIDDEN, arena, solution);
    ons_stage_refuse(w, c.least, solution);
    return NULL;
}
