/* The last layer before an output that weighs its inputs: where a model's classes are decided. */
#ifndef ONSTAGE_GRAPH_PASSES_HEAD_H
#define ONSTAGE_GRAPH_PASSES_HEAD_H

#include "graph/registry.h"

/* A value that has another size at one axis where the head has another number of classes. */
typedef struct ons_head_size {
    ons_value_id value;
    uint32_t axis;
} ons_head_size;

typedef struct ons_head {
    ons_head_size
        *sizes; /* the layer's weight first, then its biases and what follows from them, the output among it */
    uint32_t count, parameters; /* the first `parameters` of them are initialisers */
    int64_t inputs;             /* of a class: elements of the weight for each */
} ons_head;

/* Finds the head before the graph's output number `output`, in a bound graph. Arrays lie in `arena`. Fails with the
 * node named where there is no single linear layer or convolution before the output.
 *
 * To be given other classes (`shared` is false), it fails as well where the way to the output is none that keeps
 * classes apart or takes others, and where a weight of the head is read elsewhere. To be looked at (`shared`), a weight
 * may have other readers, and biases are found as far as the way takes other classes. */
ons_status *ons_head_find(const ons_graph *bound, const ons_registry *registry, uint32_t output, bool shared,
                          ons_arena *arena, ons_head *head);

#endif
