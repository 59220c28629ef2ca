#include "graph/passes/readers.h"

enum { DEPTH_MAX = 32 }; /* of views of views: a constant is near to where it is used */

static bool is_output(const ons_graph *graph, ons_value_id value) {
    bool found = false;
    for (size_t i = 0; i < graph->outputs.count && !found; ++i) found = graph->outputs.items[i] == value;
    return found;
}

bool ons_moves_elements(const ons_node *node) {
    if (node->output_count == 0 || node->outputs[0] == ONS_NONE) return false;
    if (node->op->roles.traits & (ONS_TRAIT_IDENTITY | ONS_TRAIT_MOVES)) return true;
    bool views = false;
    for (const ons_alias *a = node->op->aliases; a != NULL && a->kind != ONS_ALIAS_END && !views; ++a)
        views = a->kind == ONS_ALIAS_VIEW && a->output == 0 && a->input == 0;
    return views;
}

static bool is_rooted(const ons_graph *graph, ons_value_id sum) {
    bool any = false;
    if (sum == ONS_NONE || is_output(graph, sum)) return false;
    for (size_t i = 0; i < graph->nodes.count; ++i) {
        const ons_node *node = &graph->nodes.items[i];
        for (uint32_t k = 0; k < node->input_count; ++k) {
            if (node->inputs[k] != sum) continue;
            if (node->op->roles.role != ONS_ROLE_SQUARE_ROOT) return false;
            any = true;
        }
    }
    return any;
}

static uint32_t find_readings(const ons_graph *graph, ons_value_id value, int depth);

static uint32_t read_input(const ons_graph *graph, const ons_node *node, uint32_t input, int depth) {
    const ons_operator_roles *roles = &node->op->roles;
    if (input == 0 && ons_moves_elements(node))
        return depth > 0 ? find_readings(graph, node->outputs[0], depth - 1) : ONS_READ_OTHERWISE;
    if (input < 32 && (roles->states >> input & 1)) return ONS_READ_STATE;
    if (input < 32 && (roles->coordinates >> input & 1)) return ONS_READ_COORDINATES;
    if (roles->role == ONS_ROLE_ADD) return is_rooted(graph, node->outputs[0]) ? ONS_READ_ROOTED : ONS_READ_ADDED;
    return roles->traits & ONS_TRAIT_ELEMENTWISE ? ONS_READ_ELEMENTWISE : ONS_READ_OTHERWISE;
}

ons_value_id ons_captured(const ons_graph *graph, ons_value_id value, const ons_graph *inner) {
    const char *name = graph->values.items[value].name;
    ons_value_id found = ons_graph_find_value(inner, name);
    if (found == ONS_NONE || inner->values.items[found].kind != ONS_INPUT) return ONS_NONE;
    for (size_t i = 0; i < inner->inputs.count; ++i)
        if (inner->inputs.items[i] == found) return ONS_NONE;
    return found;
}

static uint32_t read_captures(const ons_graph *graph, const ons_node *node, ons_value_id value, int depth) {
    uint32_t readings = 0;
    for (uint32_t a = 0; node->op->attributes[a].name != NULL; ++a) {
        if (node->attributes[a].kind != ONS_ATTRIBUTE_GRAPH) continue;
        const ons_graph *inner = node->attributes[a].graph;
        ons_value_id inside = ons_captured(graph, value, inner);
        if (inside != ONS_NONE)
            readings |= depth > 0 ? find_readings(inner, inside, depth - 1) : (uint32_t)ONS_READ_OTHERWISE;
    }
    return readings;
}

static uint32_t find_readings(const ons_graph *graph, ons_value_id value, int depth) {
    uint32_t readings = is_output(graph, value) ? ONS_READ_OTHERWISE : 0;
    for (size_t i = 0; i < graph->nodes.count; ++i) {
        const ons_node *node = &graph->nodes.items[i];
        for (uint32_t k = 0; k < node->input_count; ++k)
            if (node->inputs[k] == value) readings |= read_input(graph, node, k, depth);
        readings |= read_captures(graph, node, value, depth);
    }
    return readings;
}

uint32_t ons_readings(const ons_graph *graph, ons_value_id value) { return find_readings(graph, value, DEPTH_MAX); }
