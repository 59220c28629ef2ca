/* In which order a step runs the nodes, and in which parts:
 *   begin      once, before the micro-batches
 *   forward    for every micro-batch
 *   backward   for every micro-batch, when it has come back from the later stages
 *   end        once, after the micro-batches (of an asynchronous pipeline: after every backward part)
 */
#ifndef ONSTAGE_GRAPH_SEQUENCE_H
#define ONSTAGE_GRAPH_SEQUENCE_H

#include "graph/graph.h"

typedef enum ons_part { ONS_PART_BEGIN, ONS_PART_FORWARD, ONS_PART_BACKWARD, ONS_PART_END, ONS_PART_COUNT } ons_part;

typedef struct ons_sequence {
    ons_node_id *nodes;           /* all of them */
    uint32_t end[ONS_PART_COUNT]; /* positions [end[part - 1], end[part]) are a part's */
    uint32_t count;
    bool repeats; /* more than one micro-batch a step */
} ons_sequence;

static inline uint32_t ons_sequence_begin(const ons_sequence *s, ons_part part) {
    return part == ONS_PART_BEGIN ? 0 : s->end[part - 1];
}

/* `end`: where the parts of the graph's nodes end (see graph/passes/cut.h), or NULL: updates and what comes after them
 * are the end; of the rest, what runs once stands in front where there is more than one micro-batch; the first node
 * that is not of the forward phase starts the backward part. Results in `arena`. */
ons_status *ons_sequence_make(const ons_graph *graph, const uint32_t *end, bool repeats, ons_arena *arena,
                              ons_sequence *sequence);

#endif
