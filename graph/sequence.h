/* In which order a step runs the nodes: those of the beginning once, those of the micro-batch as often as there are
 * any, those of the end once. */
#ifndef ONSTAGE_GRAPH_SEQUENCE_H
#define ONSTAGE_GRAPH_SEQUENCE_H

#include "graph/graph.h"

typedef struct ons_sequence {
    ons_node_id *nodes; /* all of them; [0, begin) [begin, end) [end, count) */
    uint32_t begin, end, count;
    bool repeats; /* more than one micro-batch a step */
} ons_sequence;

/* With one micro-batch a step everything is one run in the graph's order, begin = 0 and end = count: an update can
 * follow its gradient at once, and the gradient's memory is free again. Results in `arena`. */
ons_status *ons_sequence_make(const ons_graph *graph, bool repeats, ons_arena *arena, ons_sequence *sequence);

#endif
