#include "bench/instances/stage.h"

/* What the stage has to do with a tensor. */
typedef struct local_tensor {
    uint32_t number;         /* in the instance */
    bool made, leaves, lost; /* lost: not there after the forward part */
    bool swapped;
    uint32_t last_reader; /* positions; NOBODY: there is none */
    uint32_t first_saver, last_saver;
    uint32_t first_again; /* the first node that runs again and reads it */
} local_tensor;

typedef struct walk {
    const instance *in;
    const solution *s;
    uint32_t stage, node_count, tensor_count;
    const uint32_t *nodes;
    local_tensor *tensors;
    uint32_t *local_of; /* [tensor of the instance] */
    bool *again;        /* [position] */
    ons_arena *arena;
} walk;

bool stage_has_any(const solution *s, uint32_t stage, const number_list *nodes) {
    for (uint32_t i = 0; i < nodes->count; ++i)
        if (stage_has(s, stage, nodes->items[i])) return true;
    return false;
}

static uint32_t least(uint32_t a, uint32_t b) { return a < b ? a : b; } /* NOBODY is the largest */
static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

static const graph_tensor *tensor_of(const walk *w, const local_tensor *t) { return &w->in->tensors[t->number]; }

/* What is swapped comes and goes at times of its own, which the walks do not know. */
static int64_t bytes_of(const walk *w, const local_tensor *t) { return t->swapped ? 0 : tensor_of(w, t)->bytes; }

static bool has_node(const number_list *list, uint32_t node) {
    for (uint32_t i = 0; i < list->count; ++i)
        if (list->items[i] == node) return true;
    return false;
}

/* ---------------------------------------------------------------------------------------------------------- tensors */

static void find_uses(walk *w, local_tensor *t) {
    const graph_tensor *g = tensor_of(w, t);
    t->last_reader = t->first_saver = t->last_saver = t->first_again = NOBODY;
    t->made = stage_has(w->s, w->stage, g->producer);
    for (uint32_t i = 0; i < g->readers.count; ++i) {
        uint32_t node = g->readers.items[i], at = w->s->position_of[node];
        if (!stage_has(w->s, w->stage, node))
            t->leaves = t->made;
        else if (t->last_reader == NOBODY || at > t->last_reader)
            t->last_reader = at;
    }
    for (uint32_t i = 0; i < g->savers.count; ++i) {
        uint32_t node = g->savers.items[i], at = w->s->position_of[node];
        if (!stage_has(w->s, w->stage, node)) {
            t->leaves = t->made;
            continue;
        }
        t->first_saver = least(t->first_saver, at);
        if (t->last_saver == NOBODY || at > t->last_saver) t->last_saver = at;
    }
}

static ons_status *find_tensors(walk *w) {
    ONS_NEW(w->tensors, w->arena, w->in->tensor_count);
    ONS_NEW(w->local_of, w->arena, w->in->tensor_count);
    for (uint32_t i = 0; i < w->in->tensor_count; ++i) {
        const graph_tensor *g = &w->in->tensors[i];
        bool used = stage_has(w->s, w->stage, g->producer) || stage_has_any(w->s, w->stage, &g->readers) ||
                    stage_has_any(w->s, w->stage, &g->savers);
        w->local_of[i] = used ? w->tensor_count : NOBODY;
        if (!used) continue;
        w->tensors[w->tensor_count] = (local_tensor){.number = i};
        find_uses(w, &w->tensors[w->tensor_count++]);
    }
    const solution_stage *stage = &w->s->stages[w->stage];
    for (uint32_t i = 0; i < stage->swap_count; ++i) w->tensors[w->local_of[stage->swaps[i].tensor]].swapped = true;
    return NULL;
}

/* From the last node to the first, as what runs again needs what is in front of it: a node runs again where what it
 * makes is computed again and wanted, or is wanted by such a node and was not kept. */
static ons_status *find_again(walk *w) {
    ONS_NEW(w->again, w->arena, w->node_count);
    for (uint32_t position = w->node_count; position-- > 0;) {
        uint32_t node = w->nodes[position];
        for (uint32_t i = 0; i < w->tensor_count; ++i) {
            local_tensor *t = &w->tensors[i];
            if (tensor_of(w, t)->producer != node) continue;
            bool wanted = t->first_again != NOBODY || t->first_saver != NOBODY;
            t->lost = w->s->recomputed[t->number] ? wanted : t->first_saver == NOBODY;
            if (t->lost && wanted && !w->in->nodes[node].recomputable && !w->s->recomputed[t->number]) t->lost = false;
            if (t->lost && wanted) w->again[position] = true;
        }
        if (!w->again[position]) continue;
        ONS_CHECK(w->in->nodes[node].recomputable, ONS_INVALID_DATA, "node '%s' may not run a second time",
                  w->in->nodes[node].name);
        for (uint32_t i = 0; i < w->tensor_count; ++i)
            if (has_node(&tensor_of(w, &w->tensors[i])->readers, node))
                w->tensors[i].first_again = least(w->tensors[i].first_again, position);
    }
    for (uint32_t i = 0; i < w->tensor_count; ++i) {
        local_tensor *t = &w->tensors[i];
        if (!t->made) t->lost = t->first_saver == NOBODY && t->first_again == NOBODY;
    }
    return NULL;
}

/* ---------------------------------------------------------------------------------------------------------- forward */

static void walk_forward(const walk *w, stage_costs *c) {
    int64_t live = 0;
    for (uint32_t i = 0; i < w->tensor_count; ++i) /* data are there from the beginning */
        if (tensor_of(w, &w->tensors[i])->producer == NOBODY) live += bytes_of(w, &w->tensors[i]);
    for (uint32_t position = 0; position < w->node_count; ++position) {
        const graph_node *n = &w->in->nodes[w->nodes[position]];
        for (uint32_t i = 0; i < w->tensor_count; ++i)
            if (tensor_of(w, &w->tensors[i])->producer == w->nodes[position]) live += bytes_of(w, &w->tensors[i]);
        c->forward_peak = larger(c->forward_peak, live + n->forward_bytes);
        for (uint32_t i = 0; i < w->tensor_count; ++i) {
            const local_tensor *t = &w->tensors[i];
            bool here = t->made || tensor_of(w, t)->producer == NOBODY;
            uint32_t last = t->last_reader;
            if (last == NOBODY && t->made) last = w->s->position_of[tensor_of(w, t)->producer];
            if (here && t->lost && !t->leaves && last == position) live -= bytes_of(w, t);
        }
        c->forward += n->forward;
    }
    for (uint32_t i = 0; i < w->tensor_count; ++i)
        if (!w->tensors[i].lost) c->kept += bytes_of(w, &w->tensors[i]);
}

/* --------------------------------------------------------------------------------------------------------- backward */

typedef struct backward_walk {
    const walk *w;
    bool *present, *flowing, *ran; /* [local tensor]: there; its gradient is; [position]: it ran again */
    int64_t live, peak;
    double again_seconds;
    uint32_t *touched; /* [local tensor]: the first backward part that it had to be there for */
    bool apart;        /* nothing that weight gradients need goes */
    int64_t apart_bytes;
} backward_walk;

static void raise(backward_walk *b, int64_t more) { b->peak = larger(b->peak, b->live + more); }

/* What is gone when the backward parts from `position` on have run. */
static bool is_needed(const local_tensor *t, uint32_t position) {
    return least(t->first_saver, t->first_again) < position;
}

static void touch(backward_walk *b, uint32_t tensor, uint32_t position) {
    if (b->touched[tensor] == NOBODY) b->touched[tensor] = position;
}

/* In front of the backward part of `slot`. */
static void run_again(backward_walk *b, uint32_t position, uint32_t slot) {
    const walk *w = b->w;
    uint32_t node = w->nodes[position];
    if (b->ran[position]) return;
    b->ran[position] = true;
    for (uint32_t i = 0; i < w->tensor_count; ++i) {
        const local_tensor *t = &w->tensors[i];
        uint32_t producer = tensor_of(w, t)->producer;
        if (!has_node(&tensor_of(w, t)->readers, node)) continue;
        touch(b, i, slot);
        if (!b->present[i] && t->made) run_again(b, w->s->position_of[producer], slot);
    }
    int64_t scratch = w->in->nodes[node].forward_bytes;
    for (uint32_t i = 0; i < w->tensor_count; ++i) {
        const local_tensor *t = &w->tensors[i];
        if (tensor_of(w, t)->producer != node || (b->present[i] && !t->swapped)) continue;
        if (!t->swapped && (t->first_saver != NOBODY || t->first_again != NOBODY)) {
            b->present[i] = true;
            b->live += bytes_of(w, t);
        } else
            scratch += tensor_of(w, t)->bytes;
    }
    raise(b, scratch);
    b->again_seconds += w->in->nodes[node].forward;
}

static void run_backward(backward_walk *b, uint32_t position) {
    const walk *w = b->w;
    uint32_t node = w->nodes[position];
    const graph_node *n = &w->in->nodes[node];
    for (uint32_t i = 0; i < w->tensor_count; ++i) {
        const local_tensor *t = &w->tensors[i];
        const graph_tensor *g = tensor_of(w, t);
        if (has_node(&g->savers, node)) {
            touch(b, i, position);
            if (!b->present[i] && t->made) run_again(b, w->s->position_of[g->producer], position);
        }
        bool arrives = t->leaves && t->last_reader == NOBODY; /* into a place of its own */
        if (g->gradient_bytes > 0 && !b->flowing[i] && !arrives &&
            (has_node(&g->readers, node) || g->producer == node)) {
            b->flowing[i] = true;
            b->live += g->gradient_bytes;
        }
    }
    raise(b, n->backward_bytes);
    for (uint32_t i = 0; i < w->tensor_count; ++i) {
        const local_tensor *t = &w->tensors[i];
        const graph_tensor *g = tensor_of(w, t);
        bool stays = b->apart && n->weight_gradient > 0;
        if (g->producer == node && stays) b->apart_bytes += g->gradient_bytes;
        if (g->producer == node && b->flowing[i] && !stays) b->live -= g->gradient_bytes;
        if (b->apart || !b->present[i] || is_needed(t, position)) continue;
        b->present[i] = false;
        b->live -= bytes_of(w, t);
    }
}

static ons_status *measure_swaps(const backward_walk *b, stage_costs *c) {
    const walk *w = b->w;
    const solution_stage *stage = &w->s->stages[w->stage];
    ONS_NEW(c->swaps, w->arena, (size_t)stage->swap_count + 1);
    for (uint32_t i = 0; i < stage->swap_count; ++i) {
        const solution_swap *swap = &stage->swaps[i];
        uint32_t local = w->local_of[swap->tensor];
        const local_tensor *t = &w->tensors[local];
        const graph_tensor *g = tensor_of(w, t);
        uint32_t made_by = t->made ? w->s->position_of[g->producer] : NOBODY;
        ONS_CHECK(swap->in_before >= b->touched[local], ONS_INVALID_DATA,
                  "'swap': '%s' comes back behind what runs again and reads it", g->name);
        c->swaps[i] = (stage_swap){.bytes = g->bytes,
                                   .seconds = (double)g->bytes / w->in->host_bandwidth + w->in->host_latency,
                                   .made_by = made_by,
                                   .is_data = g->producer == NOBODY,
                                   .used_by = t->last_reader != NOBODY ? t->last_reader
                                              : t->made                ? made_by
                                                                       : 0,
                                   .is_sent = t->leaves,
                                   .needed_by = b->touched[local],
                                   .done_by = least(t->first_saver, t->first_again)};
    }
    return NULL;
}

/* Gives the most that is there more than what was kept. */
static ons_status *walk_backward(const walk *w, bool apart, stage_costs *c) {
    backward_walk b = {.w = w, .apart = apart, .live = c->kept};
    ONS_NEW(b.present, w->arena, w->tensor_count);
    ONS_NEW(b.flowing, w->arena, w->tensor_count);
    ONS_NEW(b.ran, w->arena, w->node_count);
    ONS_NEW(b.touched, w->arena, w->tensor_count);
    for (uint32_t i = 0; i < w->tensor_count; ++i) {
        b.present[i] = !w->tensors[i].lost;
        b.touched[i] = NOBODY;
    }
    for (uint32_t i = w->node_count; i-- > 0;) {
        double before = b.again_seconds;
        run_backward(&b, i);
        c->again[i] = b.again_seconds - before;
    }
    int64_t more = larger(0, b.peak - c->kept);
    if (!apart) {
        c->backward_peak = more;
        c->backward = c->input + c->weight + b.again_seconds;
        return measure_swaps(&b, c);
    }
    int64_t again = 0;
    for (uint32_t i = 0; i < w->tensor_count; ++i)
        if (b.present[i] && w->tensors[i].lost) again += bytes_of(w, &w->tensors[i]);
    c->input_peak = more;
    c->apart = b.apart_bytes + again;
    c->input += b.again_seconds;
    return NULL;
}

ons_status *stage_measure(const instance *in, const solution *s, uint32_t stage, ons_arena *arena, stage_costs *c) {
    const number_list *nodes = &s->stages[stage].nodes;
    walk w = {.in = in, .s = s, .stage = stage, .nodes = nodes->items, .node_count = nodes->count, .arena = arena};
    *c = (stage_costs){0};
    ONS_NEW(c->again, arena, nodes->count);
    ONS_TRY(find_tensors(&w));
    ONS_TRY(find_again(&w));
    walk_forward(&w, c);
    for (uint32_t i = 0; i < nodes->count; ++i) {
        const graph_node *n = &in->nodes[nodes->items[i]];
        c->input += n->input_gradient;
        c->weight += n->weight_gradient;
        c->update += n->update;
        if (n->weight_gradient > 0) c->weight_peak = larger(c->weight_peak, n->backward_bytes);
    }
    ONS_TRY(walk_backward(&w, false, c));
    return walk_backward(&w, true, c);
}
