/* Buffers that two graphs of one model can share. The graphs are for different numbers of samples and run in turn. Some
 * of what they make does not depend on the samples, such as a weight in another layout or type: both would make the
 * same bytes once a step, so one place is enough. */
#ifndef ONSTAGE_GRAPH_SHARED_BUFFERS_H
#define ONSTAGE_GRAPH_SHARED_BUFFERS_H

#include "graph/liveness.h"

typedef struct ons_shared_buffers_side {
    const ons_graph *graph;
    const ons_execution_order *execution_order;
    const ons_liveness *liveness;
} ons_shared_buffers_side;

/* Finds the shared buffers. (*shared_buffers)[i]: the buffer of sides[0] that holds from the beginning of a step to the
 * end of its micro-batches the bytes that buffer i of sides[1] holds; ONS_NONE: there is none. In `arena`. */
ons_status *ons_find_shared_buffers(const ons_shared_buffers_side sides[2], ons_arena *arena,
                                    ons_buffer_id **shared_buffers);

#endif
