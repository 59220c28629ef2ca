#include "graph/passes/prune.h"

#include <stdlib.h>

#include "graph/operator.h"

/* A node that writes a state or buffer matters though no output depends on it. */
static bool updates_state(const ons_graph *graph, const ons_node *node) {
    for (uint32_t i = 0; i < node->output_count; ++i)
        if (node->outputs[i] != ONS_NONE && ons_graph_value(graph, node->outputs[i])->pair != ONS_NONE) return true;
    return false;
}

static bool makes_live(const bool *live, const ons_node *node) {
    for (uint32_t i = 0; i < node->output_count; ++i)
        if (node->outputs[i] != ONS_NONE && live[node->outputs[i]]) return true;
    return false;
}

/* Marks values from the outputs backwards, in the reverse of the order in which nodes will stand; `keep` gets the
 * nodes. */
static void mark(const ons_graph *graph, const ons_node_id *order, bool *live, bool *keep) {
    for (size_t i = 0; i < graph->outputs.count; ++i) live[graph->outputs.items[i]] = true;
    for (size_t i = 0; i < graph->inputs.count; ++i) live[graph->inputs.items[i]] = true;
    for (size_t position = graph->nodes.count; position-- > 0;) {
        size_t i = order == NULL ? position : order[position];
        const ons_node *node = &graph->nodes.items[i];
        keep[i] = updates_state(graph, node) || makes_live(live, node);
        for (uint32_t k = 0; keep[i] && k < node->input_count; ++k)
            if (node->inputs[k] != ONS_NONE) live[node->inputs[k]] = true;
        for (uint32_t k = 0; keep[i] && k < node->output_count; ++k) {
            if (node->outputs[k] == ONS_NONE) continue;
            ons_value_id pair = ons_graph_value(graph, node->outputs[k])->pair;
            live[node->outputs[k]] |= pair != ONS_NONE || k < node->op->arity.outputs_min;
            if (pair != ONS_NONE) live[pair] = true;
        }
    }
}

static ons_value_id renumber(const ons_value_id *fresh, ons_value_id id) {
    return id == ONS_NONE ? ONS_NONE : fresh[id];
}

static ons_status *rebuild_names(ons_graph *graph) {
    ons_map_free(&graph->value_names);
    ons_map_free(&graph->node_names);
    for (ons_value_id id = 0; id < graph->values.count; ++id)
        ONS_TRY(ons_map_set(&graph->value_names, graph->values.items[id].name, id));
    for (ons_node_id id = 0; id < graph->nodes.count; ++id)
        ONS_TRY(ons_map_set(&graph->node_names, graph->nodes.items[id].name, id));
    return NULL;
}

static void compact_values(ons_graph *graph, const bool *live, ons_value_id *fresh, const ons_node_id *fresh_node) {
    ons_value_id count = 0;
    for (ons_value_id id = 0; id < graph->values.count; ++id) fresh[id] = live[id] ? count++ : ONS_NONE;
    for (ons_value_id id = 0; id < graph->values.count; ++id) {
        if (!live[id]) continue;
        ons_value value = graph->values.items[id];
        value.pair = renumber(fresh, value.pair);
        value.producer = value.producer == ONS_NONE ? ONS_NONE : fresh_node[value.producer];
        graph->values.items[fresh[id]] = value; /* never ahead of `id` */
    }
    graph->values.count = count;
}

static void renumber_node(ons_node *node, const ons_value_id *fresh, const ons_node_id *fresh_node, ons_node_id self) {
    for (uint32_t i = 0; i < node->input_count; ++i) node->inputs[i] = renumber(fresh, node->inputs[i]);
    for (uint32_t i = 0; i < node->output_count; ++i) node->outputs[i] = renumber(fresh, node->outputs[i]);
    ons_node_id origin = fresh_node[node->origin];
    node->origin = origin == ONS_NONE ? self : origin;
}

ons_status *ons_prune(ons_graph *graph, const ons_node_id *order, ons_tracked_values *tracked) {
    size_t values = graph->values.count, nodes = graph->nodes.count;
    bool *live = calloc(values + 1, sizeof *live);
    bool *keep = calloc(nodes + 1, sizeof *keep);
    ons_value_id *fresh = calloc(values + 1, sizeof *fresh);
    ons_node_id *fresh_node = calloc(nodes + 1, sizeof *fresh_node);
    ons_node *kept = calloc(nodes + 1, sizeof *kept);
    ons_status *status = NULL;
    if (live == NULL || keep == NULL || fresh == NULL || fresh_node == NULL || kept == NULL) {
        status = ons_status_out_of_memory();
    } else {
        for (size_t i = 0; i < ons_tracked_count(tracked); ++i) {
            ons_value_id id = tracked->ids[i];
            if (id != ONS_NONE && graph->values.items[id].producer == ONS_NONE) live[id] = true;
        }
        mark(graph, order, live, keep);
        ons_node_id count = 0;
        for (size_t i = 0; i < nodes; ++i) {
            ons_node_id id = order == NULL ? (ons_node_id)i : order[i];
            fresh_node[id] = keep[id] ? count : ONS_NONE;
            if (keep[id]) kept[count++] = graph->nodes.items[id];
        }
        compact_values(graph, live, fresh, fresh_node);
        for (ons_node_id id = 0; id < count; ++id) {
            renumber_node(&kept[id], fresh, fresh_node, id);
            graph->nodes.items[id] = kept[id];
        }
        graph->nodes.count = count;
        for (size_t i = 0; i < graph->inputs.count; ++i) graph->inputs.items[i] = fresh[graph->inputs.items[i]];
        for (size_t i = 0; i < graph->outputs.count; ++i) graph->outputs.items[i] = fresh[graph->outputs.items[i]];
        for (size_t i = 0; i < ons_tracked_count(tracked); ++i) tracked->ids[i] = renumber(fresh, tracked->ids[i]);
        status = rebuild_names(graph);
    }
    free(live), free(keep), free(fresh), free(fresh_node), free(kept);
    return status;
}

/* What is tracked is an output for as long as it takes to prune. */
ons_status *ons_prune_tracked(ons_graph *graph, const ons_node_id *order, ons_tracked_values *tracked) {
    size_t outputs = graph->outputs.count;
    for (size_t i = 0; i < ons_tracked_count(tracked); ++i)
        if (tracked->ids[i] != ONS_NONE) ONS_PUSH(&graph->outputs, tracked->ids[i]);
    ONS_TRY(ons_prune(graph, order, tracked));
    graph->outputs.count = outputs;
    return NULL;
}
