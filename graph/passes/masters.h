/* Float32 masters: what is trained and has a half type in the file is held in float32.
 *
 * An update of a float16 or bfloat16 weight is lost where it is below the type's resolution, and an optimiser's state
 * underflows (eps 1e-8 is 0 in float16). So the weight becomes float32, and every node that read it reads a cast to the
 * file's type, made once a step (ons_share_weight_casts). The gradient comes back through the cast: sums over
 * micro-batches, norms, states and the update are float32 because the weight is.
 *
 *     before   w (half) ─▶ readers          after   w (float32) ─Cast─▶ w/float16 ─▶ readers
 *
 * Running statistics become float32 too. The node that moves them takes them so; where no node of the graph moves them
 * (a validation) they are cast like weights.
 *
 * The first contents stay those of the file: a value's type is then float32 and its data's are not, and who loads them
 * widens (runtime/program/device_context.h). Who writes the file rounds (engine/train/masters.h).
 */
#ifndef ONSTAGE_GRAPH_PASSES_MASTERS_H
#define ONSTAGE_GRAPH_PASSES_MASTERS_H

#include "graph/passes/tracked.h"
#include "graph/registry.h"

/* Whether the value is a master: float32, while the file has its first contents in a half type. */
static inline bool ons_is_master(const ons_graph *graph, const ons_value *value) {
    const ons_tensor *tensor = ons_store_get(graph->store, value->data);
    return tensor != NULL && value->type.dtype == ONS_FLOAT32 && ons_dtype_is_half(tensor->type.dtype);
}

/* Lists the running statistics of a half type that this graph moves and can hold in float32: appends their ids to
 * `ids`, which has room for all values, and counts them in *count. */
ons_status *ons_list_half_statistics(const ons_graph *graph, ons_value_id *ids, uint32_t *count);

/* Lists what `like`, another graph of the same training, holds in float32 and this one, as bound, in a half type. */
void ons_list_masters_of(const ons_graph *graph, const ons_graph *like, ons_value_id *ids, uint32_t *count);

/* On the forward part with its loss, before it is differentiated. `ids`: parameters and running statistics of a half
 * type; others are passed over. Ids change. */
ons_status *ons_hold_masters(ons_graph *graph, const ons_registry *registry, const ons_value_id *ids, uint32_t count,
                             ons_tracked_values *tracked);

#endif
