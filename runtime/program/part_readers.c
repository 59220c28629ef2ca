#include "runtime/program/part_readers.h"

static bool reads(const ons_node *node, const bool *lies_there) {
    for (uint32_t i = 0; i < node->input_count; ++i)
        if (node->inputs[i] != ONS_NONE && lies_there[node->inputs[i]]) return true;
    return false;
}

/* A view of what lies there does, too. */
static void note_views(const ons_node *node, bool *lies_there) {
    for (const ons_alias *alias = node->op->aliases; alias->kind != ONS_ALIAS_END; ++alias)
        if (alias->kind == ONS_ALIAS_VIEW && node->outputs[alias->output] != ONS_NONE &&
            lies_there[node->inputs[alias->input]])
            lies_there[node->outputs[alias->output]] = true;
}

ons_status *ons_part_readers_find(const ons_cut_stage *cut, ons_value_id value, ons_arena *arena, ons_part_readers *r) {
    ons_part parts = ons_part_count(cut->chunks), part = ONS_PART_BEGIN;
    bool *lies_there;
    ONS_NEW(lies_there, arena, cut->graph->values.count + 1);
    ONS_NEW(r->first, arena, parts);
    ONS_NEW(r->last, arena, parts);
    for (ons_part i = 0; i < parts; ++i) r->first[i] = r->last[i] = ONS_NONE;
    lies_there[value] = true;
    for (ons_node_id id = 0; id < cut->graph->nodes.count; ++id) {
        const ons_node *node = ons_graph_node(cut->graph, id);
        while (part + 1 < parts && id >= cut->end[part]) ++part;
        if (reads(node, lies_there)) {
            if (r->first[part] == ONS_NONE) r->first[part] = id;
            r->last[part] = id;
        }
        note_views(node, lies_there);
    }
    return NULL;
}
