#include "graph/passes/cheap_again.h"

#include <string.h>

#include "graph/operands.h"
#include "graph/sharing.h"

/* Of each root: who reads it, views apart. */
typedef struct reading {
    uint32_t forward_readers;
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
            r->forward_readers += node->phase == ONS_FORWARD;
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
    return result->backward && !result->output && result->forward_readers > 0 && result->last != ONS_NONE &&
           operand->backward && has_operands(graph, node, root, readings) &&
           ons_type_dense_bytes(&ons_graph_value(graph, node->outputs[0])->type) >= ONS_CHEAP_AGAIN_LEAST;
}

/* What is handed back so far, and room. */
typedef struct handing_back {
    bool *handed; /* of each root */
    bool *needs;  /* of each node; all false between calls */
} handing_back;

/* Whether the gradient `by`, of an earlier forward node, needs what reads a value that is handed back, or what that
 * leads to. */
static bool needs_readers(const ons_graph *graph, const ons_value_id *root, ons_node_id by, handing_back *h) {
    ons_node_id first = ons_graph_node(graph, by)->origin + 1;
    for (ons_node_id id = first; id <= by; ++id) {
        const ons_node *node = ons_graph_node(graph, id);
        for (uint32_t i = 0; i < node->input_count && !h->needs[id] && node->phase != ONS_FORWARD; ++i) {
            if (node->inputs[i] == ONS_NONE) continue;
            ons_node_id maker = ons_graph_value(graph, node->inputs[i])->producer;
            h->needs[id] = h->handed[root[node->inputs[i]]] || (maker != ONS_NONE && maker >= first && h->needs[maker]);
        }
    }
    bool found = h->needs[by];
    memset(h->needs + first, 0, (size_t)(by + 1 - first) * sizeof *h->needs);
    return found;
}

/* Its last output has the type and layout of what the origin made, from the same operand. */
static bool can_hand_back(const ons_graph *graph, ons_node_id maker, const ons_node *by) {
    const ons_node *node = ons_graph_node(graph, maker);
    if (by->origin != maker || by->phase == ONS_FORWARD || (by->op->roles.traits & ONS_TRAIT_HANDS_BACK) == 0 ||
        by->output_count == by->op->arity.outputs_max)
        return false;
    bool reads = false;
    for (uint32_t i = 0; i < by->input_count; ++i) reads |= by->inputs[i] == node->inputs[0];
    return reads && ons_type_equal(&ons_graph_value(graph, node->inputs[0])->type,
                                   &ons_graph_value(graph, node->outputs[0])->type);
}

/* The gradient of the node that hands its result back, behind which all that reads it runs; ONS_NONE: there is none. A
 * result that several forward nodes read is not: their gradients would wait for each other. */
static ons_node_id find_handing_back(const ons_graph *graph, const ons_value_id *root, const reading *result,
                                     ons_node_id maker, handing_back *h) {
    ons_node_id by = maker + 1;
    if (result->forward_readers != 1) return ONS_NONE;
    while (by < graph->nodes.count && !can_hand_back(graph, maker, ons_graph_node(graph, by))) ++by;
    if (by == graph->nodes.count) return ONS_NONE;
    ons_value_id value = root[ons_graph_node(graph, maker)->outputs[0]];
    h->handed[value] = true;
    if (!needs_readers(graph, root, by, h)) return by;
    h->handed[value] = false;
    return ONS_NONE;
}

ons_status *ons_find_cheap_again(const ons_graph *graph, ons_arena *arena, ons_cut_decision **decisions,
                                 uint32_t *count) {
    ons_value_id *root;
    reading *readings;
    ONS_TRY(ons_find_roots(graph, arena, &root));
    ONS_TRY(find_readings(graph, root, arena, &readings));
    handing_back h;
    ONS_NEW(*decisions, arena, graph->nodes.count + 1);
    ONS_NEW(h.handed, arena, graph->values.count + 1);
    ONS_NEW(h.needs, arena, graph->nodes.count + 1);
    *count = 0;
    for (ons_node_id id = 0; id < graph->nodes.count; ++id) {
        const ons_node *node = ons_graph_node(graph, id);
        if (!is_cheap(graph, node, root, readings)) continue;
        reading *result = &readings[root[node->outputs[0]]];
        result->again = true;
        ons_node_id by = find_handing_back(graph, root, result, id, &h);
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
