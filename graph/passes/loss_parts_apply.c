#include <stdlib.h>
#include <string.h>

#include "graph/passes/loss_parts.h"
#include "graph/passes/prune.h"

/* --------------------------------------------------------------------------------------------------------- in order */

typedef struct sorter {
    const ons_graph *graph;
    ons_node_id *order;
    bool *placed;
    ons_node_id count;
} sorter;

/* Behind what it reads. Appended nodes are few, and none is far from one that was there. */
static void place(sorter *s, ons_node_id id) {
    if (s->placed[id]) return;
    s->placed[id] = true;
    const ons_node *node = ons_graph_node(s->graph, id);
    for (uint32_t i = 0; i < node->input_count; ++i) {
        ons_node_id producer =
            node->inputs[i] == ONS_NONE ? ONS_NONE : ons_graph_value(s->graph, node->inputs[i])->producer;
        if (producer != ONS_NONE) place(s, producer);
    }
    s->order[s->count++] = id;
}

ons_status *ons_loss_parts_order(ons_graph *graph, ons_tracked_values *tracked) {
    sorter s = {.graph = graph,
                .order = calloc(graph->nodes.count + 1, sizeof *s.order),
                .placed = calloc(graph->nodes.count + 1, sizeof *s.placed)};
    ons_status *status = s.order == NULL || s.placed == NULL ? ons_status_out_of_memory() : NULL;
    if (status == NULL) {
        for (ons_node_id id = 0; id < graph->nodes.count; ++id) place(&s, id);
        status = ons_prune(graph, s.order, tracked);
    }
    free(s.order);
    free(s.placed);
    return status;
}

/* Readers of `from` among the nodes that were there, and the graph's outputs, take `to`. */
static void redirect(ons_graph *graph, ons_node_id nodes, ons_value_id from, ons_value_id to) {
    for (ons_node_id id = 0; id < nodes; ++id)
        for (uint32_t i = 0; i < ons_graph_node(graph, id)->input_count; ++i)
            if (ons_graph_node(graph, id)->inputs[i] == from) ons_graph_node(graph, id)->inputs[i] = to;
    for (size_t i = 0; i < graph->outputs.count; ++i)
        if (graph->outputs.items[i] == from) graph->outputs.items[i] = to;
}

ons_status *ons_loss_parts_open(ons_graph *graph, const ons_registry *registry, const ons_loss_rules *rules,
                                ons_value_id *loss) {
    ons_node_id count = (ons_node_id)graph->nodes.count;
    for (ons_node_id id = 0; id < count; ++id) {
        const ons_node node = *ons_graph_node(graph, id); /* a copy: building moves the array */
        bool found = false;
        for (size_t i = 0; i < rules->count; ++i)
            found |= rules->items[i].op == node.op && rules->items[i].form == ONS_LOSS_OF_CLASSES;
        if (!found || rules->reduce(graph, &node) != ONS_CLASSES_COUNTED) continue;
        ons_builder b = {.graph = graph,
                         .registry = registry,
                         .phase = ONS_FORWARD,
                         .origin = ONS_NONE,
                         .name = ons_arena_format(graph->arena, "%s/parts", node.name)};
        ons_value_id quotient = rules->open(&b, &node), whole = node.outputs[0];
        ONS_TRY(ons_builder_finish(&b));
        redirect(graph, count, whole, quotient);
        if (*loss == whole) *loss = quotient;
    }
    if (graph->nodes.count == count) return NULL;
    ons_tracked_values tracked = {loss, 1};
    return ons_loss_parts_order(graph, &tracked);
}

/* --------------------------------------------------------------------------------------------------- totals, shares */

static ons_status *add_totals(ons_graph *graph, ons_loss_parts *parts, ons_node_id nodes) {
    for (uint32_t k = 0; k < parts->total_count; ++k) {
        ons_value_id old = parts->totals[k], fresh;
        const ons_value value = *ons_graph_value(graph, old);
        const char *name = ons_arena_format(graph->arena, "%s" ONS_LOSS_TOTAL_SUFFIX, value.name);
        if (name == NULL) return ons_status_out_of_memory();
        ONS_TRY(ons_graph_add_value(graph, name, ONS_INPUT, &value.type, &fresh));
        for (ons_node_id id = 0; id < nodes; ++id) {
            ons_node *node = ons_graph_node(graph, id);
            for (uint32_t i = 0; parts->late[id] && i < node->input_count; ++i)
                if (node->inputs[i] == old) node->inputs[i] = fresh;
        }
        parts->totals[k] = fresh;
        ONS_PUSH(&graph->inputs, fresh);
    }
    return NULL;
}

static ons_status *weigh(ons_graph *graph, const ons_registry *registry, const ons_loss_edge *edge) {
    ons_value_id operand = ons_graph_node(graph, edge->node)->inputs[edge->input];
    const ons_type type = ons_graph_value(graph, operand)->type;
    ons_builder b = {.graph = graph,
                     .registry = registry,
                     .phase = ONS_FORWARD,
                     .origin = ONS_NONE,
                     .name = ons_arena_format(graph->arena, "%s/share", ons_graph_node(graph, edge->node)->name)};
    ons_value_id weighed =
        ons_build(&b, ons_registry_role(registry, ONS_ROLE_SAMPLE_MEAN), ONS_IN(operand), ONS_DEFAULTS);
    if (type.shape.rank > 0)
        weighed = ons_build(&b, ons_registry_role(registry, ONS_ROLE_RESHAPE),
                            ONS_IN(weighed, ons_build_integers(&b, type.shape.dims, type.shape.rank)), ONS_DEFAULTS);
    if (ons_builder_type(&b, weighed).dtype != type.dtype)
        weighed = ons_build(&b, ons_registry_role(registry, ONS_ROLE_CAST), ONS_IN(weighed),
                            ONS_WITH(ONS_AT_INT(0, type.dtype)));
    ONS_TRY(ons_builder_finish(&b));
    ons_graph_node(graph, edge->node)->inputs[edge->input] = weighed;
    return NULL;
}

ons_status *ons_loss_parts_apply(ons_graph *graph, const ons_registry *registry, ons_loss_parts *parts,
                                 ons_value_id *loss) {
    ons_node_id nodes = (ons_node_id)graph->nodes.count;
    if (parts->total_count == 0 && parts->share_count == 0) return NULL;
    ONS_TRY(add_totals(graph, parts, nodes));
    for (uint32_t i = 0; i < parts->share_count; ++i) ONS_TRY(weigh(graph, registry, &parts->shares[i]));
    ons_tracked_values tracked = {.count = parts->total_count + 1};
    ONS_NEW(tracked.ids, graph->arena, tracked.count);
    memcpy(tracked.ids, parts->totals, parts->total_count * sizeof *tracked.ids);
    tracked.ids[parts->total_count] = *loss;
    ONS_TRY(ons_loss_parts_order(graph, &tracked));
    memcpy(parts->totals, tracked.ids, parts->total_count * sizeof *tracked.ids);
    *loss = tracked.ids[parts->total_count];
    return NULL;
}
