#include "graph/passes/cutter.h"
#include "graph/passes/update_in_backward.h"

typedef struct placer {
    const cutter *c;
    const cut_order *o;
    const ons_node_id *early; /* of each node of the whole graph, see update_in_backward.h */
    uint32_t *index;          /* of each node of the whole graph: where the base has it, or after which it runs */
    uint32_t *read;           /* of each root: the last index at which it is read */
} placer;

static void note_reads(placer *p, ons_node_id id, uint32_t index) {
    const ons_node *node = ons_graph_node(p->c->whole, id);
    for (uint32_t i = 0; i < node->input_count; ++i) {
        if (node->inputs[i] == ONS_NONE) continue;
        uint32_t *last = &p->read[p->c->root[node->inputs[i]]];
        *last = index > *last ? index : *last;
    }
}

static uint32_t place(const placer *p, ons_node_id id) {
    const ons_node *node = ons_graph_node(p->c->whole, id);
    uint32_t at = 0;
    for (uint32_t i = 0; i < node->input_count; ++i) {
        ons_node_id maker = node->inputs[i] == ONS_NONE ? ONS_NONE : producer_of(p->c, node->inputs[i]);
        if (maker != ONS_NONE && p->index[maker] > at) at = p->index[maker];
    }
    for (uint32_t i = 0; i < node->output_count; ++i) {
        ons_value_id pair =
            node->outputs[i] == ONS_NONE ? ONS_NONE : ons_graph_value(p->c->whole, node->outputs[i])->pair;
        if (pair != ONS_NONE && p->read[p->c->root[pair]] > at) at = p->read[p->c->root[pair]];
    }
    return at;
}

ons_status *ons_cut_place_updates(const cutter *c, const cut_order *order, uint32_t *after) {
    placer p = {.c = c, .o = order};
    for (uint32_t i = 0; i < order->count; ++i) after[i] = ONS_NONE;
    if (!c->o->updates_in_backward) return NULL;
    ons_node_id *early;
    ONS_TRY(ons_find_updates_in_backward(c->whole, c->scratch, &early));
    ONS_NEW(p.index, c->scratch, c->whole->nodes.count + 1);
    ONS_NEW(p.read, c->scratch, c->whole->values.count + 1);
    for (uint32_t i = 0; i < order->end_begin; ++i) {
        p.index[order->base[i]] = i;
        note_reads(&p, order->base[i], i);
        for (uint32_t k = order->group_begin[i]; k < order->group_begin[i + 1]; ++k) note_reads(&p, order->group[k], i);
    }
    for (uint32_t i = order->end_begin; i < order->count; ++i) {
        ons_node_id id = order->base[i];
        if (early[id] != ONS_NONE) after[i] = place(&p, id);
        p.index[id] = after[i];
        if (after[i] != ONS_NONE) note_reads(&p, id, after[i]);
    }
    return NULL;
}
