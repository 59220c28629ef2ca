/* The order of what one device runs in its backward parts, where it is not the whole graph's. */
#include "graph/passes/cutter.h"

static bool reads_any_of(const cutter *c, const ons_node *node, const ons_node_id *nodes, uint32_t count) {
    for (uint32_t i = 0; i < node->input_count; ++i) {
        ons_node_id maker = node->inputs[i] == ONS_NONE ? ONS_NONE : producer_of(c, node->inputs[i]);
        for (uint32_t k = 0; k < count; ++k)
            if (nodes[k] == maker) return true;
    }
    return false;
}

/* Weights' gradients of one forward node go first: what they read has left memory then before the gradient of the
 * forward node's input comes. `rest` has room for all. */
static void put_weights_first(const cutter *c, ons_node_id *nodes, uint32_t count, ons_node_id *rest) {
    uint32_t first = 0, left = 0;
    for (uint32_t i = 0; i < count; ++i) {
        const ons_node *node = ons_graph_node(c->whole, nodes[i]);
        if (node->phase == ONS_WEIGHT_GRADIENT && !reads_any_of(c, node, rest, left))
            nodes[first++] = nodes[i];
        else
            rest[left++] = nodes[i];
    }
    for (uint32_t i = 0; i < left; ++i) nodes[first + i] = rest[i];
}

/* Where no other stage waits for an input's gradient, and weights are brought up to date as soon as they can. */
static ons_status *order_weights_first(const cutter *c, const cut_base *b) {
    ons_node_id *rest;
    if (!c->o->updates_in_backward) return NULL;
    ONS_NEW(rest, c->scratch, (size_t)b->backward_end + 1);
    for (uint32_t i = b->forward_end, end; i < b->backward_end; i = end) {
        ons_node_id origin = ons_graph_node(c->whole, b->nodes[i])->origin;
        uint32_t part_end = b->end[cut_part_at(b->end, i)];
        for (end = i + 1; end < part_end && ons_graph_node(c->whole, b->nodes[end])->origin == origin;) ++end;
        put_weights_first(c, b->nodes + i, end - i, rest);
    }
    return NULL;
}

typedef struct postponement {
    const cutter *c;
    const ons_node_id *by; /* of each value: the node that hands it back; ONS_NONE: none does */
    bool *late;            /* of each node; all false between calls */
    ons_node_id *behind;   /* room */
} postponement;

/* Whether the node reads the value, a view of it, or what a late node makes or hands back. */
static bool is_late(const postponement *p, ons_node_id id, ons_value_id value) {
    const ons_node *node = ons_graph_node(p->c->whole, id);
    for (uint32_t i = 0; i < node->input_count; ++i) {
        if (node->inputs[i] == ONS_NONE) continue;
        ons_value_id root = p->c->root[node->inputs[i]];
        ons_node_id maker = producer_of(p->c, node->inputs[i]), by = p->by[root];
        if (root == value || (maker != ONS_NONE && p->late[maker]) || (by != ONS_NONE && p->late[by])) return true;
    }
    return false;
}

/* Puts what is late of the base nodes [first, at) behind the one at `at`, which must not be late itself. */
static void put_behind(ons_node_id *nodes, uint32_t first, uint32_t at, ons_value_id value, postponement *p) {
    ons_node_id by = nodes[at];
    for (uint32_t i = first; i < at; ++i) p->late[nodes[i]] = is_late(p, nodes[i], value);
    bool possible = !is_late(p, by, value);
    uint32_t count = 0, kept = first;
    for (uint32_t i = first; i < at; ++i) {
        ons_node_id id = nodes[i];
        *(possible && p->late[id] ? &p->behind[count++] : &nodes[kept++]) = id;
        p->late[id] = false;
    }
    nodes[kept++] = by;
    for (uint32_t i = 0; i < count; ++i) nodes[kept++] = p->behind[i];
}

/* What reads a value that is handed back, and what needs that, goes behind the node that hands it back. */
static ons_status *order_handed_back(const cutter *c, const cut_base *b) {
    const ons_cut_options *o = c->o;
    ons_node_id *by;
    postponement p = {.c = c};
    ONS_NEW(by, c->scratch, c->whole->values.count + 1);
    ONS_NEW(p.late, c->scratch, c->whole->nodes.count + 1);
    ONS_NEW(p.behind, c->scratch, (size_t)b->backward_end + 1);
    for (ons_value_id id = 0; id < c->whole->values.count; ++id) by[id] = ONS_NONE;
    p.by = by;
    for (uint32_t i = 0; i < o->decision_count; ++i) {
        if (o->decisions[i].eviction != ONS_EVICTION_HAND_BACK) continue;
        uint32_t at = cut_find(b, o->decisions[i].by);
        if (at == b->backward_end) continue;
        by[o->decisions[i].value] = o->decisions[i].by;
        put_behind(b->nodes, b->end[cut_part_at(b->end, at) - 1], at, o->decisions[i].value, &p);
    }
    return NULL;
}

ons_status *ons_cut_order_gradients(const cutter *c, const cut_base *base) {
    ONS_TRY(order_weights_first(c, base));
    return order_handed_back(c, base);
}
