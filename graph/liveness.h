/* Which values share a buffer, and from when to when each buffer is needed. */
#ifndef ONSTAGE_GRAPH_LIVENESS_H
#define ONSTAGE_GRAPH_LIVENESS_H

#include "graph/registry.h"
#include "graph/sequence.h"

typedef uint32_t ons_buffer_id;

typedef struct ons_buffer {
    int64_t bytes;
    uint32_t first, last; /* positions in the sequence, both included */
    bool persistent;      /* keeps its contents from step to step: parameters, constants, states, running statistics */
    ons_value_id owner;   /* the value that the buffer was made for; ONS_NONE: a node's scratch */
} ons_buffer;

typedef struct ons_liveness {
    ons_buffer *buffers;
    uint32_t buffer_count;
    ons_buffer_id *buffer_of_value; /* ONS_NONE: the value has none */
    ons_buffer_id *scratch_of_node; /* ONS_NONE: no scratch */
} ons_liveness;

/* `scratch_bytes` of every node (NULL: none); `kept`: values that the host reads after the step or micro-batch. Views
 * and states share their input's buffer; outputs that may take an input's place do so where the input dies at the node
 * and the sizes agree. Results in `arena`. Fails where a state is read after it was replaced. */
ons_status *ons_liveness_find(const ons_graph *graph, const ons_registry *registry, const ons_sequence *sequence,
                              const int64_t *scratch_bytes, const ons_value_id *kept, size_t kept_count,
                              ons_arena *arena, ons_liveness *liveness);

#endif
