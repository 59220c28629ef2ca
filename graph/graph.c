#include "graph/graph.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "graph/operator.h"

ons_status *ons_graph_new(ons_store *store, const char *name, ons_graph **result) {
    ons_arena *arena = ons_arena_new();
    ons_graph *graph = arena == NULL ? NULL : ons_arena_allocate(arena, 1, sizeof *graph);
    if (graph == NULL) {
        ons_arena_free(arena);
        return ons_status_out_of_memory();
    }
    graph->arena = arena;
    graph->store = store;
    graph->name = ons_arena_copy_text(arena, name == NULL ? "" : name);
    *result = graph;
    return NULL;
}

void ons_graph_free(ons_graph *graph) {
    if (graph == NULL) return;
    ons_vector_free(&graph->values);
    ons_vector_free(&graph->nodes);
    ons_vector_free(&graph->inputs);
    ons_vector_free(&graph->outputs);
    ons_vector_free(&graph->read_by_unknown);
    ons_map_free(&graph->value_names);
    ons_map_free(&graph->node_names);
    ons_arena_free(graph->arena); /* the graph itself lies in it */
}

static bool is_free(const ons_map *taken, const char *base, uint32_t number, char *text, size_t size) {
    snprintf(text, size, "%s_%u", base, number);
    return ons_map_get(taken, text) == ONS_MAP_ABSENT;
}

/* Leaves in `text` the first free name with a number, looking at few of a long run of taken ones: doubling finds a free
 * number, halving the way back finds the end of the run. */
static void number_name(const ons_map *taken, const char *base, char *text, size_t size) {
    uint32_t low = 0, high = 1;
    while (!is_free(taken, base, high, text, size)) {
        low = high;
        high *= 2;
    }
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (is_free(taken, base, middle, text, size))
            high = middle;
        else
            low = middle;
    }
    snprintf(text, size, "%s_%u", base, high);
}

/* A copy of `name` that `taken` does not hold yet: "relu", "relu_1", "relu_2", … */
static ons_status *unique_name(ons_graph *graph, const ons_map *taken, const char *name, const char **result) {
    const char *base = name == NULL || name[0] == '\0' ? "unnamed" : name;
    if (ons_map_get(taken, base) == ONS_MAP_ABSENT) {
        *result = ons_arena_copy_text(graph->arena, base);
        return *result == NULL ? ons_status_out_of_memory() : NULL;
    }
    size_t size = strlen(base) + 16;
    char *text = ons_arena_allocate(graph->arena, size, 1);
    if (text == NULL) return ons_status_out_of_memory();
    number_name(taken, base, text, size);
    *result = text;
    return NULL;
}

ons_status *ons_graph_add_value(ons_graph *graph, const char *name, ons_value_kind kind, const ons_type *type,
                                ons_value_id *id) {
    ons_value value = {.type = *type, .kind = kind, .producer = ONS_NONE, .data = ONS_NO_DATA, .pair = ONS_NONE};
    ONS_TRY(unique_name(graph, &graph->value_names, name, &value.name));
    *id = (ons_value_id)graph->values.count;
    ONS_PUSH(&graph->values, value);
    return ons_map_set(&graph->value_names, value.name, *id);
}

/* The given attributes, or the operator's defaults. */
static ons_status *copy_attributes(ons_graph *graph, const ons_operator *op, const ons_attribute *attributes,
                                   const ons_attribute **result) {
    uint32_t count = ons_operator_attributes(op);
    ons_attribute *copy;
    ONS_NEW(copy, graph->arena, count);
    for (uint32_t i = 0; i < count; ++i) copy[i] = attributes == NULL ? op->attributes[i].default_value : attributes[i];
    *result = copy;
    return NULL;
}

ons_status *ons_graph_add_node(ons_graph *graph, const ons_operator *op, const char *name,
                               const ons_attribute *attributes, const ons_value_id *inputs, uint32_t input_count,
                               uint32_t output_count, ons_node_id *id) {
    ons_node node = {.op = op, .input_count = input_count, .output_count = output_count};
    ONS_TRY(unique_name(graph, &graph->node_names, name == NULL || name[0] == '\0' ? op->name : name, &node.name));
    ONS_TRY(copy_attributes(graph, op, attributes, &node.attributes));
    ONS_NEW(node.inputs, graph->arena, input_count);
    if (input_count > 0) memcpy(node.inputs, inputs, input_count * sizeof inputs[0]);
    ONS_NEW(node.outputs, graph->arena, output_count);
    for (uint32_t i = 0; i < output_count; ++i) node.outputs[i] = ONS_NONE;
    *id = node.origin = (ons_node_id)graph->nodes.count;
    ONS_PUSH(&graph->nodes, node);
    return ons_map_set(&graph->node_names, node.name, *id);
}

void ons_graph_set_output(ons_graph *graph, ons_node_id node, uint32_t index, ons_value_id value) {
    ons_graph_node(graph, node)->outputs[index] = value;
    ons_graph_value(graph, value)->producer = node;
}

void ons_graph_take_place(ons_graph *graph, ons_node_id id, ons_node_id of) {
    ons_node *node = ons_graph_node(graph, id), *was = ons_graph_node(graph, of);
    const char *fresh = node->name;
    node->name = was->name;
    was->name = fresh;
    node->phase = was->phase;
    node->per_step = was->per_step;
}

uint64_t ons_graph_node_key(const ons_graph *graph, ons_node_id id) {
    const ons_node *node = ons_graph_node(graph, id);
    const char *name = node->key != NULL ? node->key : ons_graph_node(graph, node->origin)->name;
    return ons_hash_text(ONS_HASH_BASIS, name);
}

ons_value_id ons_graph_find_value(const ons_graph *graph, const char *name) {
    return ons_map_get(&graph->value_names, name);
}

ons_node_id ons_graph_find_node(const ons_graph *graph, const char *name) {
    return ons_map_get(&graph->node_names, name);
}

const ons_tensor *ons_graph_constant(const ons_graph *graph, ons_value_id id) {
    if (id == ONS_NONE || ons_graph_value(graph, id)->kind != ONS_CONSTANT) return NULL;
    const ons_tensor *tensor = ons_store_get(graph->store, ons_graph_value(graph, id)->data);
    return tensor == NULL || tensor->data == NULL ? NULL : tensor;
}
