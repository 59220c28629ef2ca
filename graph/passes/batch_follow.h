/* Where the batch is in each value of a graph; for graph/passes/batch.c and samples.c. */
#ifndef ONSTAGE_GRAPH_PASSES_BATCH_FOLLOW_H
#define ONSTAGE_GRAPH_PASSES_BATCH_FOLLOW_H

#include "graph/passes/batch.h"

/* Axis `axis` of a value has outer × samples × inner indices: [12 × samples] heads, [samples × 197] tokens. The inner
 * factor follows from the size. */
typedef struct ons_batch_place {
    bool carries; /* false: the same for all samples */
    uint32_t axis;
    int64_t outer;
} ons_batch_place;

/* What has to be done to a node so that it takes another number of samples. */
typedef enum ons_batch_remedy {
    ONS_BATCH_AS_IS,
    ONS_BATCH_RESHAPE,      /* its shape is that of its result */
    ONS_BATCH_RESIZE,       /* operand `operand` gives the sizes of its result: entry `axis` is of the batch */
    ONS_BATCH_REPEAT_BLOCK, /* operand `operand`, the same for all samples, is repeated along axis `axis` as a whole */
    ONS_BATCH_REPEAT, /* operands that are the same for all samples and have their number at axis `axis` are repeated */
} ons_batch_remedy;

typedef struct ons_batch_choice {
    ons_batch_remedy remedy;
    uint32_t axis, operand;
} ons_batch_choice;

typedef struct ons_batch_map {
    bool
        sums; /* set by the caller: a result that does not hold the batch any more is no obstacle, nor such an output */
    const uint32_t *axes;      /* set by the caller: of each input, the axis that may be the batch; NULL: 0 of all */
    ons_batch_place *places;   /* of each value */
    ons_batch_choice *choices; /* of each node */
} ons_batch_map;

/* The map's arrays lie in `arena`. Obstacle as in ons_change_batch. */
ons_status *ons_follow_batch(const ons_graph *graph, const ons_registry *registry, int64_t from, ons_arena *arena,
                             ons_batch_map *map, ons_blocker *obstacle);

/* What is to be repeated in place of an operand that is the same for all samples and has their number, `from`, at
 * `axis`: the operand itself, its first index (`sliced`) where the others are equal, or what it repeats already. */
typedef struct ons_batch_repeat {
    ons_value_id source; /* ONS_NONE: it has another size there, or differs from sample to sample */
    bool sliced;
} ons_batch_repeat;
ons_batch_repeat ons_batch_find_repeat(const ons_graph *graph, const ons_registry *registry, int64_t from,
                                       ons_value_id operand, uint32_t axis);

#endif
