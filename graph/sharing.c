#include "graph/sharing.h"

#include "graph/operator.h"

bool ons_is_view(const ons_operator *op) {
    for (const ons_alias *a = op->aliases; a->kind != ONS_ALIAS_END; ++a)
        if (a->kind == ONS_ALIAS_VIEW) return true;
    return false;
}

bool ons_alias_connects(const ons_node *node, const ons_alias *a) {
    return a->output < node->output_count && node->outputs[a->output] != ONS_NONE && a->input < node->input_count &&
           node->inputs[a->input] != ONS_NONE;
}

static ons_status *find_sources(const ons_graph *graph, bool states, ons_arena *arena, ons_value_id **roots) {
    ons_value_id *root;
    ONS_NEW(root, arena, graph->values.count + 1);
    for (ons_value_id id = 0; id < graph->values.count; ++id) root[id] = id;
    for (ons_node_id id = 0; id < graph->nodes.count; ++id) {
        const ons_node *node = ons_graph_node(graph, id);
        for (const ons_alias *a = node->op->aliases; a->kind != ONS_ALIAS_END; ++a)
            if ((a->kind == ONS_ALIAS_VIEW || (states && a->kind == ONS_ALIAS_STATE)) && ons_alias_connects(node, a))
                root[node->outputs[a->output]] = root[node->inputs[a->input]];
    }
    *roots = root;
    return NULL;
}

ons_status *ons_find_roots(const ons_graph *graph, ons_arena *arena, ons_value_id **roots) {
    return find_sources(graph, false, arena, roots);
}

ons_status *ons_find_places(const ons_graph *graph, ons_arena *arena, ons_value_id **roots) {
    return find_sources(graph, true, arena, roots);
}
