/* What two graphs of one model, for different numbers of samples, make alike once a step: weights in another layout or
 * type. Where parts of both run in turn, it needs one place alone. */
#ifndef ONSTAGE_GRAPH_TWINS_H
#define ONSTAGE_GRAPH_TWINS_H

#include "graph/liveness.h"

typedef struct ons_twin_side {
    const ons_graph *graph;
    const ons_sequence *sequence;
    const ons_liveness *liveness;
} ons_twin_side;

/* (*twins)[i]: the buffer of sides[0] that holds from the beginning of a step to the end of its micro-batches the bytes
 * that buffer i of sides[1] holds; ONS_NONE: there is none. In `arena`. */
ons_status *ons_find_twins(const ons_twin_side sides[2], ons_arena *arena, ons_buffer_id **twins);

#endif
