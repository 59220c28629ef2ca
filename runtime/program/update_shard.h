/* Updates that are divided among replicas (the first stage of ZeRO, arXiv 1910.02054, section 5.1): each replica owns a
 * slice of every weight, keeps the optimiser's states of that slice alone, and brings that slice alone up to date; the
 * others' slices of the weights come from them (runtime/pipeline/reducer.h). An update works element by element, so a
 * slice of it is the same node over fewer elements, which begin further on in the weight and its gradient.
 */
#ifndef ONSTAGE_RUNTIME_PROGRAM_UPDATE_SHARD_H
#define ONSTAGE_RUNTIME_PROGRAM_UPDATE_SHARD_H

#include "graph/graph.h"
#include "graph/operator.h"
#include "graph/slice.h"

typedef struct ons_update_shard {
    uint32_t owner, owners; /* owners: 0 or 1: updates are whole */
} ons_update_shard;

static inline bool ons_update_shard_divides(const ons_update_shard *shard) { return shard->owners > 1; }

/* Tests whether the node is an update, which a shard divides. */
bool ons_update_shard_takes(const ons_node *node);
/* Gives the elements that this owner updates. */
ons_slice ons_update_shard_slice(const ons_update_shard *shard, const ons_graph *graph, const ons_node *update);

/* Makes an update's operands those of its slice: vectors of its elements. In `arena`. */
ons_status *ons_update_shard_operands(const ons_update_shard *shard, const ons_node *update, ons_arena *arena,
                                      ons_operands *operands);
/* Gives how many bytes behind the beginning of its buffer an operand of an update begins. */
int64_t ons_update_shard_input_offset(const ons_update_shard *shard, const ons_graph *graph, const ons_node *update,
                                      uint32_t input);
int64_t ons_update_shard_output_offset(const ons_update_shard *shard, const ons_graph *graph, const ons_node *update,
                                       uint32_t output);

/* Finds what is kept of each value: elements of the slice for states of updates, -1 for all others. In `arena`. */
ons_status *ons_update_shard_states(const ons_update_shard *shard, const ons_graph *graph, ons_arena *arena,
                                    int64_t **elements);

#endif
