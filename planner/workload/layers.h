/* Layers: the granularity at which frameworks cut, and people think. */
#ifndef ONSTAGE_PLANNER_WORKLOAD_LAYERS_H
#define ONSTAGE_PLANNER_WORKLOAD_LAYERS_H

#include "planner/workload/workload.h"

/* Fills in work->layers and the layer of each node. Exporters write a node's module into its name
 * ("/encoder/layer.3/attention/MatMul"): a layer is a run of nodes whose names agree up to the first number. Where
 * names say nothing, a layer ends where a single tensor crosses. */
ons_status *ons_layers_find(ons_workload *work, ons_arena *arena);

#endif
