/* What `onstage profile` measured, node by node: a JSON file of which a graph's costs are looked up.
 *
 *   { "onstage_profile": 1, "device": {…}, "run": {…}, "nodes": [ {"key", "name", "phase", "seconds", …}, … ] }
 *
 * "device" is a device profile whose efficiency is fitted to these nodes, for the operators of other graphs.
 */
#ifndef ONSTAGE_PLANNER_COST_NODE_COSTS_H
#define ONSTAGE_PLANNER_COST_NODE_COSTS_H

#include "planner/cost/fit.h"
#include "planner/cost/graph_work.h"

/* Makes the key of all that decides how long a node takes on one device: operator, types with layouts, a digest of the
 * attributes. In `arena`. */
ons_status *ons_node_key(const ons_graph *graph, ons_node_id node, ons_arena *arena, const char **key);

typedef struct ons_node_cost {
    const char *key, *name, *operator_name;
    const char *implementation; /* of its kernel; "" where it says nothing */
    const char *attributes;     /* as ons_node_print_attributes; "" where it has none, NULL where nothing is known */
    ons_phase phase;
    double seconds;
    double flops, bytes;
    int64_t scratch_bytes;
    int64_t saved_bytes; /* of its outputs, those that a backward node reads */
    bool matrix;         /* a dense product or convolution */
} ons_node_cost;

typedef struct ons_node_costs {
    ons_device_profile device;
    const char *model;     /* path */
    const char *libraries; /* what computed: their versions and the kernels' variant; "" where the file does not say */
    int64_t samples;       /* of the micro-batch that was measured */
    int64_t threads, repetitions;
    double step_seconds; /* median of whole micro-batches with update; 0: not measured, all nodes were known */
    /* What a step takes beside its nodes: */
    double launch_seconds;   /* from a node to the next */
    double feed_seconds;     /* data of such a micro-batch, into the device's memory */
    double handover_seconds; /* once a step: from the host's thread to the compute stream's and back */
    int64_t parameter_bytes, state_bytes, transient_bytes, arena_bytes;
    ons_node_cost *nodes; /* those that run: no views */
    uint32_t count;
    uint32_t *by_key; /* the nodes in the order of their keys: see ons_node_costs_index */
} ons_node_costs;

/* Loads a file of costs into `arena`. Failures name file and field. */
ons_status *ons_node_costs_load(const char *path, ons_arena *arena, ons_node_costs *costs);
ons_status *ons_node_costs_parse(const void *bytes, size_t size, ons_arena *arena, ons_node_costs *costs);
/* Prints the text of the file; the caller frees it with free(). */
ons_status *ons_node_costs_print(const ons_node_costs *costs, char **text);
/* Makes by_key, for costs that were not read from a file. */
ons_status *ons_node_costs_index(ons_node_costs *costs, ons_arena *arena);

/* Distinct operators of the profile as samples for ons_device_profile_fit: about every second one held out, by its key.
 */
ons_status *ons_node_costs_samples(const ons_node_costs *costs, ons_arena *arena, ons_fit_sample **samples,
                                   uint32_t *count);

/* How a graph's costs came about. */
typedef struct ons_node_costs_use {
    const char *libraries; /* that the costs were measured with; "" where the file does not say, NULL where nothing was
                              measured */
    uint32_t measured;     /* nodes of the same key: of the same name where there is one, otherwise the mean of all */
    uint32_t analytic;     /* by the device profile */
} ons_node_costs_use;

/* Costs of every node of a graph for micro-batches of so many samples, in `arena`; `use` may be NULL. */
ons_status *ons_node_costs_apply(const ons_node_costs *costs, const ons_graph *graph, int64_t samples, ons_arena *arena,
                                 ons_graph_cost *cost, ons_node_costs_use *use);

/* Carries the costs that ons_node_costs_apply gave for the graph over to another device: each node takes as many times
 * longer or shorter there as the analytic model has it by both devices and, where these state different instructions
 * that were surveyed, as problems like it were (planner/cost/instructions.h). What a node takes beside what the model
 * knows of, it is thought to take there in proportion; from a node to the next it takes as long as here. */
ons_status *ons_node_costs_carry(const ons_node_costs *costs, const ons_graph *graph, const ons_device_profile *device,
                                 ons_arena *arena, ons_graph_cost *cost);

#endif
