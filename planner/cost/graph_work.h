/* A training graph as a workload: forward nodes with what was derived from them. Pure: costs come in as a table. */
#ifndef ONSTAGE_PLANNER_COST_GRAPH_WORK_H
#define ONSTAGE_PLANNER_COST_GRAPH_WORK_H

#include "graph/registry.h"
#include "planner/cost/device_profile.h"
#include "planner/workload/workload.h"

/* The costs of every node of a graph, made by a profiler that measured (runtime/), or by ons_graph_cost_analytic. */
typedef struct ons_graph_cost {
    double *seconds;
    int64_t *scratch_bytes;
    double feed_seconds;     /* data of a micro-batch, into the device's memory */
    double handover_seconds; /* once a step, beside all nodes */
} ons_graph_cost;

/* Estimates costs by the device profile, from the FLOPs and bytes that the operators state; no scratch. In `arena`. */
ons_status *ons_graph_cost_analytic(const ons_graph *graph, const ons_device_profile *profile, ons_arena *arena,
                                    ons_graph_cost *cost);

typedef struct ons_graph_work_options {
    const ons_graph *graph; /* a training graph (forward, backward, update), or a forward graph alone */
    const ons_registry *registry;
    const ons_graph_cost *cost;
    int64_t samples;          /* in a micro-batch */
    bool updates_in_backward; /* see graph/passes/update_in_backward.h: one stage, and one micro-batch a step */
    uint32_t owners;          /* replicas among which updates are divided (runtime/program/update_shard.h); 0: 1 */
} ons_graph_work_options;

typedef struct ons_graph_work {
    ons_workload work;
    ons_node_id
        *node_of_position;      /* the forward node at each position; the order is the graph's, which is the file's */
    uint32_t *position_of_node; /* where each node of the graph goes with */
    ons_value_id *value_of_tensor;
    ons_value_id *root_of_value; /* the value whose bytes a view shows; itself for all others */
} ons_graph_work;

/* Makes the workload, in `arena`; names are the graph's. A position holds: a forward node; the nodes that autograd made
 * for it (ons_node.origin); accumulation and update of the weights whose gradients come from it. Views count as nodes
 * but not as tensors: their readers read what they show. Data come with the first node. */
ons_status *ons_graph_work_make(const ons_graph_work_options *options, ons_arena *arena, ons_graph_work *result);

#endif
