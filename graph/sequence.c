#include "graph/sequence.h"

#include <string.h>

/* The part of a node, given whether the backward part has begun in the graph's order. */
static ons_part part_of(const ons_node *node, bool repeats, bool backward) {
    if (node->phase == ONS_UPDATE) return ONS_PART_END;
    if (repeats && node->per_step) return ONS_PART_BEGIN;
    return backward ? ONS_PART_BACKWARD : ONS_PART_FORWARD;
}

ons_status *ons_sequence_make(const ons_graph *graph, const uint32_t *end, bool repeats, ons_arena *arena,
                              ons_sequence *s) {
    *s = (ons_sequence){.repeats = repeats};
    ONS_NEW(s->nodes, arena, graph->nodes.count + 1);
    if (end != NULL) {
        for (ons_node_id id = 0; id < graph->nodes.count; ++id) s->nodes[s->count++] = id;
        memcpy(s->end, end, sizeof s->end);
        return NULL;
    }
    for (ons_part part = 0; part < ONS_PART_COUNT; ++part) {
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
