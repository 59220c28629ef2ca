#include "graph/passes/half_weights.h"

#include "graph/operator.h"
#include "graph/passes/update.h"

typedef struct keeper {
    ons_graph *graph;
    const ons_operator *cast;
    ons_node_id *update; /* of each weight: the node that replaces it; ONS_NONE: none does */
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

static ons_status *write_half(keeper *k, ons_node_id id, const ons_type *type, ons_value_id *half) {
    ons_graph *graph = k->graph;
    ons_node *update = ons_graph_node(graph, id);
    const char *weight = ons_graph_value(graph, update->inputs[ONS_UPDATE_PARAMETER])->name;
    const char *name = ons_arena_format(graph->arena, "%s/half", weight);
    ons_value_id next;
    if (name == NULL) return ons_status_out_of_memory();
    ONS_TRY(widen(graph->arena, &update->inputs, &update->input_count, update->op->arity.inputs_max));
    ONS_TRY(widen(graph->arena, &update->outputs, &update->output_count, update->op->arity.outputs_max));
    ONS_TRY(ons_graph_add_value(graph, name, ONS_PARAMETER, type, half));
    ONS_TRY(ons_graph_add_value(graph, name, ONS_PARAMETER, type, &next));
    ons_graph_value(graph, next)->pair = *half;
    update->inputs[ons_update_half_input(update->op)] = *half;
    ons_graph_set_output(graph, id, ons_update_half_output(update->op), next);
    return NULL;
}

ons_status *ons_keep_half_weights(ons_graph *graph, const ons_registry *registry) {
    keeper k = {.graph = graph, .cast = ons_registry_role(registry, ONS_ROLE_CAST)};
    size_t values = graph->values.count;
    ons_value_id *stead; /* of each value: what is read instead of it */
    ONS_NEW(k.update, graph->arena, values + 1);
    ONS_NEW(k.elsewhere, graph->arena, values + 1);
    ONS_NEW(stead, graph->arena, values + 1);
    for (ons_value_id id = 0; id < values; ++id) k.update[id] = ONS_NONE, stead[id] = id;
    for (size_t i = 0; i < graph->outputs.count; ++i) k.elsewhere[graph->outputs.items[i]] = true;
    for (ons_node_id id = 0; id < graph->nodes.count; ++id) note_update(&k, id);
    for (ons_node_id id = 0; id < graph->nodes.count; ++id) {
        const ons_node *node = ons_graph_node(graph, id);
        for (uint32_t i = 0; i < node->input_count; ++i)
            if (node->inputs[i] < values) node->inputs[i] = stead[node->inputs[i]];
        if (!can_go(&k, node)) continue;
        ons_type type = ons_graph_value(graph, node->outputs[0])->type;
        ONS_TRY(write_half(&k, k.update[node->inputs[0]], &type, &stead[node->outputs[0]]));
        k.update[node->inputs[0]] = ONS_NONE; /* one half type a weight */
    }
    return NULL;
}
