#include "graph/passes/uses.h"

#include "graph/passes/readers.h"

/* ------------------------------------------------------------------------------------------------------------- uses */

/* Called twice for each use: first to count, then, once `all` is there, to write. */
static void add(ons_uses *uses, ons_value_id value, ons_use use) {
    if (uses->all != NULL) uses->all[uses->first[value]] = use;
    ++uses->first[value];
}

static void add_captures(ons_uses *uses, ons_uses *body) {
    for (ons_value_id inside = 0; inside < body->graph->values.count; ++inside)
        if (body->outside[inside] != ONS_NONE) add(uses, body->outside[inside], (ons_use){body->holder, inside, body});
}

static void add_all(ons_uses *uses) {
    for (ons_node_id id = 0; id < uses->graph->nodes.count; ++id) {
        const ons_node *node = ons_graph_node(uses->graph, id);
        for (uint32_t i = 0; i < node->input_count; ++i)
            if (node->inputs[i] != ONS_NONE) add(uses, node->inputs[i], (ons_use){.node = id, .input = i});
    }
    for (size_t i = 0; i < uses->bodies.count; ++i) add_captures(uses, uses->bodies.items[i]);
}

/* From how many uses each value has, or from where its uses end, to where they begin. */
static uint32_t shift(uint32_t *first, size_t count, bool counted) {
    uint32_t total = 0;
    for (size_t i = 0; i < count; ++i) {
        uint32_t here = first[i];
        first[i] = total;
        total = counted ? total + here : here;
    }
    first[count] = total;
    return total;
}

/* ----------------------------------------------------------------------------------------------------------- bodies */

static ons_status *find(const ons_graph *graph, const ons_graph *around, ons_arena *arena, ons_uses **uses);

static ons_status *find_bodies(ons_uses *uses, ons_arena *arena, ons_node_id id) {
    const ons_node *node = ons_graph_node(uses->graph, id);
    for (uint32_t a = 0; node->op->attributes[a].name != NULL; ++a) {
        if (node->attributes[a].kind != ONS_ATTRIBUTE_GRAPH) continue;
        ons_uses *body;
        ONS_TRY(find(node->attributes[a].graph, uses->graph, arena, &body));
        body->holder = id;
        ONS_PUSH(&uses->bodies, body);
    }
    return NULL;
}

static ons_value_id find_captured(const ons_graph *graph, ons_value_id id, const ons_graph *around) {
    const ons_value *value = ons_graph_value(graph, id);
    if (around == NULL || value->kind != ONS_INPUT) return ONS_NONE;
    ons_value_id outside = ons_graph_find_value(around, value->name);
    return outside != ONS_NONE && ons_captured(around, outside, graph) == id ? outside : (ons_value_id)ONS_NONE;
}

static ons_status *find(const ons_graph *graph, const ons_graph *around, ons_arena *arena, ons_uses **result) {
    size_t count = graph->values.count;
    ons_uses *uses;
    ONS_NEW(uses, arena, 1);
    *result = uses;
    uses->graph = graph;
    ONS_NEW(uses->first, arena, count + 1);
    ONS_NEW(uses->outside, arena, count + 1);
    ONS_NEW(uses->depends, arena, count + 1);
    ONS_NEW(uses->marks, arena, count + 1);
    for (ons_value_id id = 0; id < count; ++id) uses->outside[id] = find_captured(graph, id, around);
    for (ons_node_id id = 0; id < graph->nodes.count; ++id) ONS_TRY(find_bodies(uses, arena, id));
    add_all(uses);
    uint32_t total = shift(uses->first, count, true);
    ONS_NEW(uses->all, arena, (size_t)total + 1);
    add_all(uses);
    shift(uses->first, count, false);
    return NULL;
}

ons_status *ons_uses_find(const ons_graph *graph, ons_arena *arena, ons_uses **uses) {
    *uses = NULL;
    return find(graph, NULL, arena, uses);
}

void ons_uses_free(ons_uses *uses) {
    for (size_t i = 0; uses != NULL && i < uses->bodies.count; ++i) ons_uses_free(uses->bodies.items[i]);
    if (uses != NULL) ons_vector_free(&uses->bodies);
}

/* ------------------------------------------------------------------------------------------------------ dependences */

/* What nothing makes, in a graph that was imported in part, counts as data. */
static uint8_t depend_first(const ons_uses *uses, const ons_uses *around, ons_value_id id) {
    const ons_value *value = ons_graph_value(uses->graph, id);
    if (uses->outside[id] != ONS_NONE) return around->depends[uses->outside[id]];
    if (value->kind == ONS_PARAMETER) return ONS_DEPENDS_ON_WEIGHTS;
    bool unmade = value->kind == ONS_ACTIVATION && value->producer == ONS_NONE;
    return value->kind == ONS_INPUT || unmade ? ONS_DEPENDS_ON_DATA : 0;
}

static void depend(ons_uses *uses, const ons_uses *around);

/* What a node's bodies make of what they capture. */
static uint8_t depend_bodies(ons_uses *uses, ons_node_id id, size_t *next) {
    uint8_t depends = 0;
    for (; *next < uses->bodies.count && uses->bodies.items[*next]->holder == id; ++*next) {
        ons_uses *body = uses->bodies.items[*next];
        depend(body, uses);
        for (size_t i = 0; i < body->graph->outputs.count; ++i) depends |= body->depends[body->graph->outputs.items[i]];
    }
    return depends;
}

static void depend(ons_uses *uses, const ons_uses *around) {
    const ons_graph *graph = uses->graph;
    size_t next = 0;
    for (ons_value_id id = 0; id < graph->values.count; ++id) uses->depends[id] = depend_first(uses, around, id);
    for (ons_node_id id = 0; id < graph->nodes.count; ++id) {
        const ons_node *node = ons_graph_node(graph, id);
        uint8_t depends = depend_bodies(uses, id, &next);
        if (node->op->roles.traits & ONS_TRAIT_RANDOM) depends |= ONS_DEPENDS_ON_DATA;
        for (uint32_t i = 0; i < node->input_count; ++i)
            if (node->inputs[i] != ONS_NONE) depends |= uses->depends[node->inputs[i]];
        for (uint32_t i = 0; i < node->output_count; ++i)
            if (node->outputs[i] != ONS_NONE) uses->depends[node->outputs[i]] = depends;
    }
}

void ons_uses_depend(ons_uses *uses) { depend(uses, NULL); }
