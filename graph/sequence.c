#include "graph/sequence.h"

ons_status *ons_sequence_make(const ons_graph *graph, bool repeats, ons_arena *arena, ons_sequence *s) {
    *s = (ons_sequence){.repeats = repeats};
    ONS_NEW(s->nodes, arena, graph->nodes.count + 1);
    for (int part = 0; part < 3; ++part) {
        for (ons_node_id id = 0; id < graph->nodes.count; ++id) {
            const ons_node *node = ons_graph_node(graph, id);
            int belongs = !repeats || !node->per_step ? 1 : node->phase == ONS_UPDATE ? 2 : 0;
            if (belongs == part) s->nodes[s->count++] = id;
        }
        if (part == 0) s->begin = s->count;
        if (part == 1) s->end = s->count;
    }
    return NULL;
}
