/* Which values share a buffer, and from when to when each buffer is needed. */
#ifndef ONSTAGE_GRAPH_LIVENESS_H
#define ONSTAGE_GRAPH_LIVENESS_H

#include "graph/execution_order.h"
#include "graph/registry.h"

typedef uint32_t ons_buffer_id;

typedef struct ons_buffer {
    int64_t bytes;
    uint32_t first, last; /* positions in the execution order, both included */
    uint32_t last_read;   /* by nodes and host; up to `last` others read it (a copy, a message) */
    bool persistent;      /* keeps its contents from step to step: parameters, constants, states, running statistics */
    ons_value_id owner;   /* the value that the buffer was made for; ONS_NONE: a node's scratch */
} ons_buffer;

typedef struct ons_liveness {
    ons_buffer *buffers;
    uint32_t buffer_count;
    ons_buffer_id *buffer_of_value; /* ONS_NONE: the value has none */
    ons_buffer_id *scratch_of_node; /* ONS_NONE: no scratch */
    ons_buffer_id *scratch_of_part; /* ONS_NONE: see part_bytes of the options */
} ons_liveness;

typedef struct ons_liveness_options {
    const ons_graph *graph;
    const ons_registry *registry;
    const ons_execution_order *execution_order;
    const int64_t *scratch_bytes; /* of every node; NULL: none */
    const int64_t *held_elements; /* of every value: of persistent ones, how many elements have a place here; -1, and
                                     where it is NULL: all */
    /* Of every position: from where to where the node's scratch is in use, where nodes run together; NULL, both: while
     * the node runs. */
    const uint32_t *scratch_first, *scratch_last;
    const uint32_t *scratch_stays; /* of every position: until which the node's scratch is its own, at least; NULL: 0 */
    const int64_t *part_bytes;     /* of every part: scratch for all of it, beside its nodes'; NULL: none */
    const ons_value_id *kept;      /* values that the host reads after the step or micro-batch */
    size_t kept_count;
    const uint32_t *arrives; /* of every value that no node makes and that is not persistent: the position before which
                                it comes; NULL: all before the first */
    const uint32_t *stays;   /* of every value: a position until which its bytes are read by others (a copy, a message);
                                0: none. NULL: none at all */
    bool unordered; /* weight gradients may be made after parts of greater numbers: what is read for them and in such a
                       part stays until the micro-batch ends */
} ons_liveness_options;

/* Views and states share their input's buffer; outputs that may take an input's place do so where the input dies at the
 * node and the sizes agree. Results in `arena`. Fails where a state is read after it was replaced. */
ons_status *ons_liveness_find(const ons_liveness_options *options, ons_arena *arena, ons_liveness *liveness);

#endif
