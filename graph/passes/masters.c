#include "graph/passes/masters.h"

#include <stdlib.h>
#include <string.h>

#include "graph/build.h"
#include "graph/operator.h"
#include "graph/passes/prune.h"

typedef struct holder {
    ons_graph *graph;
    const ons_registry *registry;
    size_t values;    /* of the graph as it was; casts come after them */
    ons_dtype *reads; /* of each of these: the half type that its readers want; ONS_NO_DTYPE: it has no master */
    bool *moves;      /* of each of these: running statistics that a node of this graph renews */
    ONS_VECTOR(ons_node_id) order;
} holder;

/* ---------------------------------------------------------------------------------------------------------- finding */

static bool is_held(const ons_value *value) {
    return value->producer == ONS_NONE && (value->kind == ONS_PARAMETER || value->kind == ONS_BUFFER);
}

/* Marks values that a node renews, and those that a node reads elsewhere than in a place for running statistics. */
static void mark_readers(const ons_graph *graph, bool *renewed, bool *elsewhere) {
    for (ons_node_id id = 0; id < graph->nodes.count; ++id) {
        const ons_node *node = ons_graph_node(graph, id);
        for (uint32_t i = 0; i < node->input_count; ++i)
            if (node->inputs[i] != ONS_NONE && !ons_is_statistic(node->op, i)) elsewhere[node->inputs[i]] = true;
        for (uint32_t i = 0; i < node->output_count; ++i) {
            ons_value_id pair =
                node->outputs[i] == ONS_NONE ? ONS_NONE : ons_graph_value(graph, node->outputs[i])->pair;
            if (pair != ONS_NONE) renewed[pair] = true;
        }
    }
}

ons_status *ons_list_half_statistics(const ons_graph *graph, ons_value_id *ids, uint32_t *count) {
    bool *renewed = calloc(2 * graph->values.count + 1, sizeof *renewed);
    if (renewed == NULL) return ons_status_out_of_memory();
    bool *elsewhere = renewed + graph->values.count;
    mark_readers(graph, renewed, elsewhere);
    for (ons_value_id id = 0; id < graph->values.count; ++id) {
        const ons_value *value = ons_graph_value(graph, id);
        if (value->kind == ONS_BUFFER && is_held(value) && ons_dtype_is_half(value->type.dtype) && renewed[id] &&
            !elsewhere[id])
            ids[(*count)++] = id;
    }
    free(renewed);
    return NULL;
}

void ons_list_masters_of(const ons_graph *graph, const ons_graph *like, ons_value_id *ids, uint32_t *count) {
    for (ons_value_id id = 0; id < graph->values.count; ++id) {
        const ons_value *value = ons_graph_value(graph, id);
        if (!is_held(value) || !ons_dtype_is_half(value->type.dtype)) continue;
        ons_value_id there = ons_graph_find_value(like, value->name);
        const ons_value *master = there == ONS_NONE ? NULL : ons_graph_value(like, there);
        if (master != NULL && is_held(master) && master->type.dtype == ONS_FLOAT32) ids[(*count)++] = id;
    }
}

/* ---------------------------------------------------------------------------------------------------------- holding */

static void widen(ons_graph *graph, ons_value_id id) { ons_graph_value(graph, id)->type.dtype = ONS_FLOAT32; }

/* The value and all that takes its place. */
static void widen_all(holder *h, const ons_value_id *ids, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
        const ons_value *value = ons_graph_value(h->graph, ids[i]);
        if (!is_held(value) || !ons_dtype_is_half(value->type.dtype)) continue;
        h->reads[ids[i]] = value->type.dtype;
        widen(h->graph, ids[i]);
    }
    for (ons_value_id id = 0; id < h->values; ++id) {
        ons_value_id pair = ons_graph_value(h->graph, id)->pair;
        if (pair == ONS_NONE || h->reads[pair] == ONS_NO_DTYPE) continue;
        h->moves[pair] = true;
        widen(h->graph, id);
    }
}

/* `value` as it was, for the node `user`; every use has a cast, and so a gradient, of its own. */
static ons_status *narrow(holder *h, ons_value_id value, ons_node_id user, ons_value_id *result) {
    *result = value;
    if (value == ONS_NONE || value >= h->values || h->reads[value] == ONS_NO_DTYPE || h->moves[value]) return NULL;
    ons_dtype dtype = h->reads[value];
    ons_builder b = {
        .graph = h->graph,
        .registry = h->registry,
        .phase = ONS_FORWARD,
        .origin = user,
        .name =
            ons_arena_format(h->graph->arena, "%s/%s", ons_graph_value(h->graph, value)->name, ons_dtype_name(dtype)),
    };
    if (b.name == NULL) return ons_status_out_of_memory();
    *result =
        ons_build(&b, ons_registry_role(h->registry, ONS_ROLE_CAST), ONS_IN(value), ONS_WITH(ONS_AT_INT(0, dtype)));
    ONS_TRY(ons_builder_finish(&b));
    ONS_PUSH(&h->order, (ons_node_id)(h->graph->nodes.count - 1));
    return NULL;
}

static ons_status *narrow_all(holder *h) {
    size_t nodes = h->graph->nodes.count;
    for (ons_node_id id = 0; id < nodes; ++id) {
        for (uint32_t i = 0; i < ons_graph_node(h->graph, id)->input_count; ++i) {
            ons_value_id read;
            ONS_TRY(narrow(h, ons_graph_node(h->graph, id)->inputs[i], id, &read));
            ons_graph_node(h->graph, id)->inputs[i] = read; /* casts move the array of nodes */
        }
        ONS_PUSH(&h->order, id);
    }
    return NULL;
}

/* What the model hands out has the type that it had, also where the caller tracks it. A tracked master is itself. */
static ons_status *narrow_outputs(holder *h, ons_tracked_values *tracked) {
    for (size_t i = 0; i < h->graph->outputs.count; ++i) {
        ons_value_id old = h->graph->outputs.items[i];
        ONS_TRY(narrow(h, old, ONS_NONE, &h->graph->outputs.items[i]));
        for (size_t k = 0; k < ons_tracked_count(tracked); ++k)
            if (tracked->ids[k] == old) tracked->ids[k] = h->graph->outputs.items[i];
    }
    return NULL;
}

ons_status *ons_hold_masters(ons_graph *graph, const ons_registry *registry, const ons_value_id *ids, uint32_t count,
                             ons_tracked_values *tracked) {
    holder h = {.graph = graph, .registry = registry, .values = graph->values.count};
    ONS_NEW(h.reads, graph->arena, h.values + 1);
    ONS_NEW(h.moves, graph->arena, h.values + 1);
    for (size_t i = 0; i < h.values; ++i) h.reads[i] = ONS_NO_DTYPE;
    widen_all(&h, ids, count);
    ons_status *status = narrow_all(&h);
    if (status == NULL) status = narrow_outputs(&h, tracked);
    if (status == NULL) status = ons_prune_tracked(graph, h.order.items, tracked);
    ons_vector_free(&h.order);
    return status;
}
