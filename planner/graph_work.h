/* A training graph as a workload: forward nodes with what was derived from them. Pure: costs come in as a table. */
#ifndef ONSTAGE_PLANNER_GRAPH_WORK_H
#define ONSTAGE_PLANNER_GRAPH_WORK_H

#include "graph/liveness.h"
#include "planner/device_profile.h"
#include "planner/workload.h"

/* Of every node of a graph. Made by a profiler that measured (runtime/), or by ons_graph_cost_analytic. */
typedef struct ons_graph_cost {
    double *seconds;
    int64_t *scratch_bytes;
} ons_graph_cost;

/* By the device profile, from the FLOPs and bytes that the operators state; no scratch. In `arena`. */
ons_status *ons_graph_cost_analytic(const ons_graph *graph, const ons_device_profile *profile, ons_arena *arena,
                                    ons_graph_cost *cost);

typedef struct ons_graph_work_options {
    const ons_graph *graph; /* a training graph (forward, backward, update), or a forward graph alone */
    const ons_registry *registry;
    const ons_graph_cost *cost;
    int64_t samples; /* in a micro-batch */
} ons_graph_work_options;

/* `node_of_position[i]`: the forward node at position i; `position_of_node[n]`: where node n goes with (its own, or
 * that of the forward node that it was derived from); `value_of_tensor[t]`. All in `arena`. */
typedef struct ons_graph_work {
    ons_workload work;
    ons_node_id *node_of_position;
    uint32_t *position_of_node;
    ons_value_id *value_of_tensor;
} ons_graph_work;

ons_status *ons_graph_work_make(const ons_graph_work_options *options, ons_arena *arena, ons_graph_work *result);

#endif
