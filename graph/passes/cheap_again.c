#include "graph/passes/cheap_again.h"

#include <string.h>

#include "graph/operands.h"
#include "graph/sharing.h"

/* Of each root: who reads it, views apart. */
typedef struct reading {
    bool forward;
    ons_node_id last; /* the last forward node whose gradient reads it; ONS_NONE: none does */
    bool backward;
    bool again;  /* is made again itself */
    bool output; /* of the graph */
} reading;

static ons_status *find_readings(const ons_graph *graph, const ons_value_id *root, ons_arena *arena,
                                 reading **readings) {
    reading *of;
    ONS_NEW(of, arena, graph->values.count + 1);
    for (size_t i = 0; i < graph->values.count; ++i) of[i].last = ONS_NONE;
    for (ons_node_id id = 0; id < graph->nodes.count; ++id) {
        const ons_node *node = ons_graph_node(graph, id);
        for (uint32_t i = 0; i < node->input_count && !ons_is_view(node->op); ++i) {
            if (node->inputs[i] == ONS_NONE) continue;
            reading *r = &of[root[node->inputs[i]]];
            r->forward = r->forward || node->phase == ONS_FORWARD;
            if (node->phase == ONS_FORWARD || node->phase == ONS_UPDATE) continue;
            r->backward = true;
            bool of_forward = ons_graph_node(graph, node->origin)->phase == ONS_FORWARD;
            if (of_forward && (r->last == ONS_NONE || node->origin > r->last)) r->last = node->origin;
        }
    }
    for (size_t i = 0; i < graph->outputs.count; ++i) of[root[graph->outputs.items[i]]].output = true;
    *readings = of;
    return NULL;
}

/* Nothing else has to be made again first. */
static bool has_operands(const ons_graph *graph, const ons_node *node, const ons_value_id *root,
                         const reading *readings) {
    for (uint32_t i = 0; i < node->input_count; ++i) {
        if (node->inputs[i] == ONS_NONE) continue;
        ons_value_id of = root[node->inputs[i]];
        if (ons_graph_value(graph, of)->producer != ONS_NONE && (!readings[of].backward || readings[of].again))
            return false;
    }
    return true;
}

static bool is_cheap(const ons_graph *graph, const ons_node *node, const ons_value_id *root, const reading *readings) {
    if (node->phase != ONS_FORWARD || node->per_step || (node->op->roles.traits & ONS_TRAIT_CHEAP_AGAIN) == 0 ||
        node->outputs[0] == ONS_NONE)
        return false;
    const reading *result = &readings[root[node->outputs[0]]], *operand = &readings[root[node->inputs[0]]];
    return result->backward && !result->output && result->forward && result->last != ONS_NONE && operand->backward &&
           has_operands(graph, node, root, readings) &&
           ons_type_dense_bytes(&ons_graph_value(graph, node->outputs[0])->type) >= ONS_CHEAP_AGAIN_LEAST;
}

/* Whether the gradient `by` needs what reads the value, or what that leads to. `needs`: of each node, all false. */
static bool needs_readers(const ons_graph *graph, const ons_value_id *root, ons_value_id value, ons_node_id by,
                          bool *needs) {
    ons_node_id first = ons_graph_node(graph, by)->origin + 1;
    for (ons_node_id id = first; id <= by; ++id) {
        const ons_node *node = ons_graph_node(graph, id);
        for (uint32_t i = 0; i < node->input_count && !needs[id] && node->phase != ONS_FORWARD; ++i) {
            if (node->inputs[i] == ONS_NONE) continue;
            ons_node_id maker = ons_graph_value(graph, node->inputs[i])->producer;
            needs[id] = root[node->inputs[i]] == value || (maker != ONS_NONE && maker >= first && needs[maker]);
        }
    }
    bool found = needs[by];
    memset(needs + first, 0, (size_t)(by + 1 - first) * sizeof *needs);
    return found;
}

/* The gradient of the node that can hand its result back, behind which all that reads it can run; ONS_NONE: none. */
static ons_node_id find_handing_back(const ons_graph *graph, const ons_value_id *root, ons_node_id maker, bool *needs) {
    const ons_node *node = ons_graph_node(graph, maker);
    for (ons_node_id id = maker + 1; id < graph->nodes.count; ++id) {
        const ons_node *by = ons_graph_node(graph, id);
        if (by->origin == maker && (by->op->roles.traits & ONS_TRAIT_HANDS_BACK) != 0 &&
            by->output_count < by->op->arity.outputs_max)
            return needs_readers(graph, root, node->outputs[0], id, needs) ? ONS_NONE : id;
    }
    return ONS_NONE;
}

ons_status *ons_find_cheap_again(const ons_graph *graph, ons_arena *arena, ons_cut_decision **decisions,
                                 uint32_t *count) {
    ons_value_id *root;
    reading *readings;
    ONS_TRY(ons_find_roots(graph, arena, &root));
    ONS_TRY(find_readings(graph, root, arena, &readings));
    bool *needs;
    ONS_NEW(*decisions, arena, graph->nodes.count + 1);
    ONS_NEW(needs, arena, graph->nodes.count + 1);
    *count = 0;
    for (ons_node_id id = 0; id < graph->nodes.count; ++id) {
        const ons_node *node = ons_graph_node(graph, id);
        if (!is_cheap(graph, node, root, readings)) continue;
        reading *result = &readings[root[node->outputs[0]]];
        result->again = true;
        ons_node_id by = find_handing_back(graph, root, id, needs);
        (*decisions)[(*count)++] = (ons_cut_decision){
            .eviction = by == ONS_NONE ? ONS_EVICTION_RECOMPUTE : ONS_EVICTION_HAND_BACK,
            .value = node->outputs[0],
            .out_after = ONS_NONE,
            .in_before = result->last,
            .by = by,
            .gone_before = ONS_NONE,
        };
    }
    return NULL;
}
