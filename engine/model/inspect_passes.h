/* The graph that a model becomes, after any of the passes that make it (engine/model/model_graph.h). */
#ifndef ONSTAGE_ENGINE_MODEL_INSPECT_PASSES_H
#define ONSTAGE_ENGINE_MODEL_INSPECT_PASSES_H

#include "engine/model/model.h"

/* Makes the training graph, as `onstage train` would for one micro-batch. *times: a line for each pass, with its
 * milliseconds; *graph: the graph's text behind the pass that --after names. Both are freed with free(). Fails where
 * there is no such pass, or where it has nothing to do for this model. */
ons_status *ons_inspect_after(const ons_model *model, const ons_config *config, char **times, char **graph);

#endif
