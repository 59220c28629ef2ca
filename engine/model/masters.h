/* Which weights and running statistics of a half type a graph holds in float32 (graph/passes/masters.h). */
#ifndef ONSTAGE_ENGINE_MODEL_MASTERS_H
#define ONSTAGE_ENGINE_MODEL_MASTERS_H

#include "engine/model/model_graph.h"

/* Whether the model has weights or running statistics of a half type at all. */
bool ons_has_half_weights(const ons_model *model);

/* Lists those of `graph`, the bound forward part with its loss `loss`, that need a master: what is trained and what is
 * moved, or, with options->like, what that graph holds so. In the graph's arena. */
ons_status *ons_find_masters(const ons_model_graph_options *options, const ons_graph *graph, ons_value_id loss,
                             ons_value_id **ids, uint32_t *count);

#endif
