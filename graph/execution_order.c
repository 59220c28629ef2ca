#include "graph/execution_order.h"

#include <string.h>

const char *ons_part_name(ons_part_kind kind) {
    static const char *const names[ONS_PART_KINDS] = {"first", "forward", "backward", "weight gradient", "update"};
    return names[kind];
}

/* The part of a node, given whether the backward part has begun in the graph's order. */
static ons_part part_of(const ons_node *node, bool repeats, bool backward) {
    if (node->phase == ONS_UPDATE) return ONS_PART_END;
    if (repeats && node->per_step) return ONS_PART_BEGIN;
    return backward ? ONS_PART_BACKWARD : ONS_PART_FORWARD;
}

ons_status *ons_execution_order_make(const ons_graph *graph, const uint32_t *end, uint32_t chunks, bool repeats,
                                     ons_arena *arena, ons_execution_order *s) {
    uint32_t parts = ons_part_count(chunks);
    *s = (ons_execution_order){.repeats = repeats, .chunks = chunks};
    ONS_NEW(s->nodes, arena, graph->nodes.count + 1);
    ONS_NEW(s->end, arena, parts);
    if (end != NULL) {
        for (ons_node_id id = 0; id < graph->nodes.count; ++id) s->nodes[s->count++] = id;
        memcpy(s->end, end, parts * sizeof *end);
        return NULL;
    }
    for (ons_part part = 0; part < parts; ++part) {
        bool backward = false;
        for (ons_node_id id = 0; id < graph->nodes.count; ++id) {
            const ons_node *node = ons_graph_node(graph, id);
            backward = backward || (node->phase != ONS_FORWARD && !node->per_step);
            if (part_of(node, repeats, backward) == part) s->nodes[s->count++] = id;
        }
        s->end[part] = s->count;
    }
    return NULL;
}
