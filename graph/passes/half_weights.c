#include "graph/passes/half_weights.h"

#include <string.h>

#include "graph/operator.h"
#include "graph/passes/update.h"

typedef struct keeper {
    ons_graph *graph;
    const ons_operator *cast;
    ons_node_id *update; /* of each weight: the node that replaces it; ONS_NONE: none does */
    ons_value_id *half;  /* of each weight: what its update writes in the half type; ONS_NONE: nothing */
    bool *elsewhere;     /* of each value: an update or the host reads it */
} keeper;

static void note_update(keeper *k, ons_node_id id) {
    const ons_node *node = ons_graph_node(k->graph, id);
    if (node->phase != ONS_UPDATE) return;
    for (uint32_t i = 0; i < node->input_count; ++i)
        if (node->inputs[i] != ONS_NONE) k->elsewhere[node->inputs[i]] = true;
    if (!ons_role_is_optimizer(node->op->roles.role) || ons_update_half_of(node) != ONS_NONE) return;
    ons_value_id weight = node->inputs[ONS_UPDATE_PARAMETER];
    if (ons_graph_value(k->graph, node->outputs[0])->pair == weight) k->update[weight] = id;
}

/* The half type that a weight of this name has in the other graph; ONS_NO_DTYPE: none. */
static ons_dtype half_in(const ons_graph *like, const char *weight) {
    for (ons_node_id id = 0; id < like->nodes.count; ++id) {
        const ons_node *node = ons_graph_node(like, id);
        ons_value_id half = node->phase == ONS_UPDATE ? ons_update_half_of(node) : ONS_NONE;
        if (half != ONS_NONE && strcmp(ons_graph_value(like, node->inputs[ONS_UPDATE_PARAMETER])->name, weight) == 0)
            return ons_graph_value(like, half)->type.dtype;
    }
    return ONS_NO_DTYPE;
}

/* Whether the node casts a weight to a half type for forward and backward nodes, once a step. */
static bool can_go(const keeper *k, const ons_node *node) {
    if (node->op != k->cast || !node->per_step || node->phase != ONS_FORWARD || k->elsewhere[node->outputs[0]])
        return false;
    const ons_value *weight = ons_graph_value(k->graph, node->inputs[0]);
    return weight->kind == ONS_PARAMETER && weight->producer == ONS_NONE && weight->type.dtype == ONS_FLOAT32 &&
           k->update[node->inputs[0]] != ONS_NONE &&
           ons_dtype_is_half(ons_graph_value(k->graph, node->outputs[0])->type.dtype);
}

/* As many operands as the operator can have; those that are new are left out. */
static ons_status *widen(ons_arena *arena, ons_value_id **operands, uint32_t *count, uint32_t most) {
    ons_value_id *wider;
    ONS_NEW(wider, arena, most);
    for (uint32_t i = 0; i < most; ++i) wider[i] = i < *count ? (*operands)[i] : ONS_NONE;
    *operands = wider;
    *count = most;
    return NULL;
}

static ons_status *write_half(keeper *k, ons_value_id weight_id, ons_dtype dtype) {
    ons_graph *graph = k->graph;
    ons_node_id id = k->update[weight_id];
    ons_node *update = ons_graph_node(graph, id);
    const char *weight = ons_graph_value(graph, weight_id)->name;
    ons_type type = ons_graph_value(graph, weight_id)->type;
    const char *name = ons_arena_format(graph->arena, "%s/half", weight);
    ons_value_id *half = &k->half[weight_id], next;
    type.dtype = dtype;
    if (name == NULL) return ons_status_out_of_memory();
    ONS_TRY(widen(graph->arena, &update->inputs, &update->input_count, update->op->arity.inputs_max));
    ONS_TRY(widen(graph->arena, &update->outputs, &update->output_count, update->op->arity.outputs_max));
    ONS_TRY(ons_graph_add_value(graph, name, ONS_PARAMETER, &type, half));
    ONS_TRY(ons_graph_add_value(graph, name, ONS_PARAMETER, &type, &next));
    ons_graph_value(graph, next)->pair = *half;
    update->inputs[ons_update_half_input(update->op)] = *half;
    ons_graph_set_output(graph, id, ons_update_half_output(update->op), next);
    return NULL;
}

/* What the graph itself casts, or what the other graph has, whether or not anything here reads it. */
static ons_status *write_halves(keeper *k, const ons_graph *like) {
    size_t nodes = k->graph->nodes.count;
    for (ons_node_id id = 0; id < nodes; ++id) {
        const ons_node *node = ons_graph_node(k->graph, id);
        ons_value_id weight = node->input_count == 0 ? (ons_value_id)ONS_NONE : node->inputs[0];
        ons_dtype dtype = ONS_NO_DTYPE;
        if (weight == ONS_NONE || k->half[weight] != ONS_NONE) continue;
        if (like == NULL && can_go(k, node))
            dtype = ons_graph_value(k->graph, node->outputs[0])->type.dtype;
        else if (like != NULL && k->update[weight] == id)
            dtype = half_in(like, ons_graph_value(k->graph, weight)->name);
        if (dtype != ONS_NO_DTYPE) ONS_TRY(write_half(k, weight, dtype));
    }
    return NULL;
}

ons_status *ons_keep_half_weights(ons_graph *graph, const ons_registry *registry, const ons_graph *like) {
    keeper k = {.graph = graph, .cast = ons_registry_role(registry, ONS_ROLE_CAST)};
    size_t values = graph->values.count;
    ons_value_id *stead; /* of each value: what is read instead of it */
    ONS_NEW(k.update, graph->arena, values + 1);
    ONS_NEW(k.half, graph->arena, values + 1);
    ONS_NEW(k.elsewhere, graph->arena, values + 1);
    ONS_NEW(stead, graph->arena, values + 1);
    for (ons_value_id id = 0; id < values; ++id) k.update[id] = ONS_NONE, k.half[id] = ONS_NONE, stead[id] = id;
    for (size_t i = 0; i < graph->outputs.count; ++i) k.elsewhere[graph->outputs.items[i]] = true;
    for (ons_node_id id = 0; id < graph->nodes.count; ++id) note_update(&k, id);
    ONS_TRY(write_halves(&k, like));
    for (ons_node_id id = 0; id < graph->nodes.count; ++id) {
        const ons_node *node = ons_graph_node(graph, id);
        for (uint32_t i = 0; i < node->input_count; ++i)
            if (node->inputs[i] < values) node->inputs[i] = stead[node->inputs[i]];
        if (!can_go(&k, node) || k.half[node->inputs[0]] == ONS_NONE) continue;
        ons_value_id half = k.half[node->inputs[0]];
        if (ons_graph_value(graph, half)->type.dtype == ons_graph_value(graph, node->outputs[0])->type.dtype)
            stead[node->outputs[0]] = half;
    }
    return NULL;
}
