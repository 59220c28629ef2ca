#include "graph/passes/update_in_backward.h"

#include "graph/operator.h"
#include "graph/sharing.h"

typedef struct finder {
    const ons_graph *graph;
    ons_node_id *after; /* the result */
    ons_value_id *root; /* of each value: the one whose bytes it shows */
    ons_node_id *read;  /* of each root: its last reader before the end part; ONS_NONE: none */
    bool *late;         /* of each root: an update that waits for the end reads it */
    ons_node_id last;   /* the last node that is no update */
} finder;

static ons_node_id later(ons_node_id a, ons_node_id b) {
    if (a == ONS_NONE || b == ONS_NONE) return a == ONS_NONE ? b : a;
    return a > b ? a : b;
}

/* The last node that has to be through before this update; ONS_NONE: one that waits for the end itself. */
static ons_node_id ready_after(const finder *f, const ons_node *node) {
    ons_node_id ready = ONS_NONE;
    for (uint32_t i = 0; i < node->input_count; ++i) {
        ons_node_id maker =
            node->inputs[i] == ONS_NONE ? ONS_NONE : ons_graph_value(f->graph, node->inputs[i])->producer;
        if (maker == ONS_NONE) continue;
        bool update = ons_graph_node(f->graph, maker)->phase == ONS_UPDATE;
        if (update && f->after[maker] == ONS_NONE) return ONS_NONE;
        ready = later(ready, update ? f->after[maker] : maker);
    }
    for (uint32_t i = 0; i < node->output_count; ++i) {
        ons_value_id pair = node->outputs[i] == ONS_NONE ? ONS_NONE : ons_graph_value(f->graph, node->outputs[i])->pair;
        if (pair == ONS_NONE) continue;
        if (f->late[f->root[pair]]) return ONS_NONE;
        ready = later(ready, f->read[f->root[pair]]);
    }
    return ready;
}

static void note_reads(finder *f, const ons_node *node, ons_node_id at) {
    for (uint32_t i = 0; i < node->input_count; ++i) {
        if (node->inputs[i] == ONS_NONE) continue;
        ons_value_id root = f->root[node->inputs[i]];
        if (at == ONS_NONE)
            f->late[root] = true;
        else
            f->read[root] = later(f->read[root], at);
    }
}

ons_status *ons_find_updates_in_backward(const ons_graph *graph, ons_arena *arena, ons_node_id **after) {
    finder f = {.graph = graph, .last = ONS_NONE};
    ONS_NEW(f.after, arena, graph->nodes.count + 1);
    ONS_TRY(ons_find_roots(graph, arena, &f.root));
    ONS_NEW(f.read, arena, graph->values.count + 1);
    ONS_NEW(f.late, arena, graph->values.count + 1);
    for (ons_value_id id = 0; id < graph->values.count; ++id) f.read[id] = ONS_NONE;
    for (ons_node_id id = 0; id < graph->nodes.count; ++id) {
        const ons_node *node = ons_graph_node(graph, id);
        f.after[id] = ONS_NONE;
        if (node->phase == ONS_UPDATE) continue;
        f.last = id;
        note_reads(&f, node, id);
    }
    for (ons_node_id id = 0; id < graph->nodes.count; ++id) {
        const ons_node *node = ons_graph_node(graph, id);
        if (node->phase != ONS_UPDATE) continue;
        ons_node_id ready = ready_after(&f, node);
        if (ready != ONS_NONE && ready < f.last) f.after[id] = ready;
        note_reads(&f, node, f.after[id]);
    }
    *after = f.after;
    return NULL;
}
