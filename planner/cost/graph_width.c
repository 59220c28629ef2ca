#include "planner/cost/graph_width.h"

#include "graph/arena_layout.h"
#include "graph/operator.h"
#include "graph/sharing.h"

typedef struct finder {
    const ons_graph *graph;
    const ons_registry *registry;
    ons_value_id *root; /* of each value: the one whose bytes it is */
} finder;

static int64_t bytes_of(const finder *f, ons_value_id value) {
    return ons_arena_align(ons_registry_type_bytes(f->registry, &ons_graph_value(f->graph, value)->type));
}

static bool is_counted_before(const finder *f, const ons_node *node, uint32_t index, ons_value_id root) {
    bool found = false;
    for (uint32_t i = 0; i < index && !found; ++i)
        found = node->inputs[i] != ONS_NONE && f->root[node->inputs[i]] == root;
    return found;
}

/* Whether some input's place would do for the output. */
static bool can_take_place(const finder *f, const ons_node *node, uint32_t output) {
    bool found = false;
    for (const ons_alias *a = node->op->aliases; a->kind != ONS_ALIAS_END && !found; ++a)
        found = a->output == output && ons_alias_connects(node, a) &&
                bytes_of(f, node->inputs[a->input]) == bytes_of(f, node->outputs[output]);
    return found;
}

static int64_t width_of(const finder *f, const ons_node *node) {
    int64_t bytes = 0;
    for (uint32_t i = 0; i < node->input_count; ++i) {
        if (node->inputs[i] == ONS_NONE) continue;
        ons_value_id root = f->root[node->inputs[i]];
        if (ons_is_persistent(ons_graph_value(f->graph, root)) || is_counted_before(f, node, i, root)) continue;
        bytes += bytes_of(f, root);
    }
    for (uint32_t i = 0; i < node->output_count; ++i) {
        ons_value_id value = node->outputs[i];
        bool fresh =
            value != ONS_NONE && f->root[value] == value && !ons_is_persistent(ons_graph_value(f->graph, value));
        if (fresh && !can_take_place(f, node, i)) bytes += bytes_of(f, value);
    }
    return bytes;
}

ons_status *ons_graph_width_find(const ons_graph *graph, const ons_registry *registry, ons_arena *scratch,
                                 ons_graph_width *width) {
    finder f = {.graph = graph, .registry = registry};
    ONS_TRY(ons_find_places(graph, scratch, &f.root));
    *width = (ons_graph_width){.node = ONS_NONE};
    for (ons_node_id id = 0; id < graph->nodes.count; ++id) {
        const ons_node *node = ons_graph_node(graph, id);
        int64_t bytes = ons_is_view(node->op) ? 0 : width_of(&f, node);
        if (bytes > width->bytes) *width = (ons_graph_width){id, bytes};
    }
    return NULL;
}
