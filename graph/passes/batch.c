#include "graph/passes/batch.h"

#include <string.h>

#include "graph/passes/batch_follow.h"
#include "graph/passes/prune.h"

typedef struct change {
    ons_graph *graph;
    const ons_registry *registry;
    ons_batch_map map;
    int64_t from, to;
    ons_arena *scratch;
    ONS_VECTOR(ons_node_id) order;
} change;

static int64_t resized(const change *c, int64_t size) { return size / c->from * c->to; }

static ons_builder builder_for(change *c, const char *name, const char *what) {
    return (ons_builder){
        .graph = c->graph,
        .registry = c->registry,
        .phase = ONS_FORWARD,
        .origin = ONS_NONE,
        .name = ons_arena_format(c->graph->arena, "%s/%s", name, what),
    };
}

/* A value's first index along an axis, as a constant. */
static ons_status *take_first(change *c, ons_value_id id, uint32_t axis, ons_value_id *result) {
    const ons_tensor known = *ons_graph_constant(c->graph, id);
    const char *name = ons_graph_value(c->graph, id)->name;
    ons_type type = known.type;
    size_t bytes = ons_dtype_size(type.dtype) * (size_t)ons_shape_span(&type.shape, axis + 1, type.shape.rank);
    size_t outer = (size_t)ons_shape_span(&type.shape, 0, axis), count = (size_t)type.shape.dims[axis];
    void *data;
    ons_data_id contents;
    type.shape.dims[axis] = 1;
    ONS_TRY(ons_store_add(c->graph->store, &type, &data, &contents));
    for (size_t i = 0; i < outer; ++i)
        memcpy((char *)data + i * bytes, (const char *)known.data + i * count * bytes, bytes);
    ONS_TRY(ons_graph_add_value(c->graph, name, ONS_CONSTANT, &type, result));
    ons_graph_value(c->graph, *result)->data = contents;
    ons_graph_value(c->graph, *result)->reason = ons_graph_value(c->graph, id)->reason;
    return NULL;
}

/* The operand with as many equal indices along `axis` as there are samples. */
static ons_status *repeat(change *c, ons_value_id *operand, uint32_t axis) {
    ons_batch_repeat found = ons_batch_find_repeat(c->graph, c->registry, c->from, *operand, axis);
    if (found.source == ONS_NONE) return NULL;
    ons_shape shape = ons_graph_value(c->graph, *operand)->type.shape;
    ons_builder b = builder_for(c, ons_graph_value(c->graph, *operand)->name, "batch");
    if (found.sliced) ONS_TRY(take_first(c, found.source, axis, &found.source));
    shape.dims[axis] = c->to;
    *operand = ons_build(&b, ons_registry_role(c->registry, ONS_ROLE_EXPAND),
                         ONS_IN(found.source, ons_build_integers(&b, shape.dims, shape.rank)), ONS_DEFAULTS);
    ONS_TRY(ons_builder_finish(&b));
    ONS_PUSH(&c->order, (ons_node_id)(c->graph->nodes.count - 1));
    return NULL;
}

/* [.., heads, ..] becomes [.., samples × heads, ..]. */
static ons_status *repeat_block(change *c, ons_value_id *operand, uint32_t axis) {
    ons_builder b = builder_for(c, ons_graph_value(c->graph, *operand)->name, "batch");
    const ons_operator *reshape = ons_registry_role(c->registry, ONS_ROLE_RESHAPE);
    ons_shape result = ons_graph_value(c->graph, *operand)->type.shape, apart = result;
    size_t nodes = c->graph->nodes.count;
    memmove(&apart.dims[axis + 1], &apart.dims[axis], (apart.rank++ - axis) * sizeof apart.dims[0]);
    apart.dims[axis] = 1;
    *operand = ons_build(&b, reshape, ONS_IN(*operand, ons_build_integers(&b, apart.dims, apart.rank)), ONS_DEFAULTS);
    apart.dims[axis] = c->to;
    *operand = ons_build(&b, ons_registry_role(c->registry, ONS_ROLE_EXPAND),
                         ONS_IN(*operand, ons_build_integers(&b, apart.dims, apart.rank)), ONS_DEFAULTS);
    result.dims[axis] *= c->to;
    *operand = ons_build(&b, reshape, ONS_IN(*operand, ons_build_integers(&b, result.dims, result.rank)), ONS_DEFAULTS);
    ONS_TRY(ons_builder_finish(&b));
    for (; nodes < c->graph->nodes.count; ++nodes) ONS_PUSH(&c->order, (ons_node_id)nodes);
    return NULL;
}

/* A constant with other sizes in place of the operand. */
static ons_status *set_sizes(change *c, const ons_node *node, uint32_t operand, const int64_t *sizes) {
    ons_type type = ons_graph_value(c->graph, node->inputs[operand])->type;
    ons_builder b = builder_for(c, node->name, "sizes");
    node->inputs[operand] = ons_build_constant(&b, b.name, &type, sizes);
    return ons_builder_finish(&b);
}

static void resize_value(change *c, ons_value_id id) {
    const ons_batch_place *place = &c->map.places[id];
    int64_t *size = &ons_graph_value(c->graph, id)->type.shape.dims[place->axis];
    if (place->carries) *size = resized(c, *size);
}

static ons_status *change_node(change *c, ons_node_id id) {
    const ons_batch_choice *choice = &c->map.choices[id];
    ons_node node = *ons_graph_node(c->graph, id); /* a copy: building moves the array, not the ids that it points to */
    for (uint32_t i = 0; i < node.output_count; ++i)
        if (node.outputs[i] != ONS_NONE) resize_value(c, node.outputs[i]);
    if (choice->remedy == ONS_BATCH_RESHAPE || choice->remedy == ONS_BATCH_RESIZE) {
        const ons_shape shape = ons_graph_value(c->graph, node.outputs[0])->type.shape;
        ONS_TRY(set_sizes(c, &node, choice->remedy == ONS_BATCH_RESHAPE ? 1 : choice->operand, shape.dims));
    }
    if (choice->remedy == ONS_BATCH_REPEAT_BLOCK) ONS_TRY(repeat_block(c, &node.inputs[choice->operand], choice->axis));
    for (uint32_t i = 0; choice->remedy == ONS_BATCH_REPEAT && i < node.input_count; ++i)
        if (node.inputs[i] != ONS_NONE && !c->map.places[node.inputs[i]].carries)
            ONS_TRY(repeat(c, &node.inputs[i], choice->axis));
    ONS_PUSH(&c->order, id);
    return NULL;
}

static ons_status *change_graph(change *c, ons_blocker *obstacle) {
    ons_graph *graph = c->graph;
    ONS_TRY(ons_follow_batch(graph, c->registry, c->from, c->scratch, &c->map, obstacle));
    if (obstacle->node != NULL) {
        obstacle->reason = ons_arena_copy_text(graph->arena, obstacle->reason);
        return obstacle->reason == NULL ? ons_status_out_of_memory() : NULL;
    }
    for (size_t i = 0; i < graph->inputs.count; ++i) resize_value(c, graph->inputs.items[i]);
    size_t nodes = graph->nodes.count;
    for (ons_node_id id = 0; id < nodes; ++id) ONS_TRY(change_node(c, id));
    return ons_prune(graph, c->order.items, NULL);
}

ons_status *ons_change_batch(ons_graph *graph, const ons_registry *registry, int64_t from, int64_t to,
                             ons_blocker *obstacle) {
    change c = {.graph = graph, .registry = registry, .from = from, .to = to, .scratch = ons_arena_new()};
    ons_status *status = c.scratch == NULL ? ons_status_out_of_memory() : change_graph(&c, obstacle);
    ons_vector_free(&c.order);
    ons_arena_free(c.scratch);
    return status;
}

int64_t ons_exported_batch(const ons_graph *imported) {
    for (size_t i = 0; i < imported->inputs.count; ++i) {
        const ons_value *input = ons_graph_value(imported, imported->inputs.items[i]);
        const ons_shape *shape = &input->type.shape;
        if (!input->once && shape->rank > 0 && shape->dims[0] != ONS_DIM_UNKNOWN) return shape->dims[0];
    }
    return 0;
}
