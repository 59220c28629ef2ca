/* A problem of the published set, read from its files without the planner: the graph with its costs, devices, links,
 * the cap, and what is to be small. README.md says what every member means. */
#ifndef ONSTAGE_BENCH_INSTANCES_PROBLEM_H
#define ONSTAGE_BENCH_INSTANCES_PROBLEM_H

#include <stdint.h>

#include "base/arena.h"
#include "base/json.h"
#include "base/map.h"

enum { NOBODY = 0xffffffffu };

typedef struct graph_node {
    const char *name;
    double forward, input_gradient, weight_gradient, update; /* seconds */
    int64_t forward_bytes, backward_bytes;
    bool recomputable;
} graph_node;

typedef struct number_list {
    uint32_t *items, count;
} number_list;

typedef struct graph_tensor {
    const char *name;
    int64_t bytes, gradient_bytes;
    uint32_t producer; /* NOBODY: data */
    number_list readers, savers;
} graph_tensor;

typedef struct graph_weight {
    int64_t bytes; /* with gradient and the optimiser's state */
    int64_t gradient_bytes;
    number_list users;
} graph_weight;

typedef enum objective { STEP_SECONDS, BOTTLENECK_SECONDS, OBJECTIVES } objective;
extern const char *const objective_names[OBJECTIVES];

typedef struct instance {
    const char *name;
    const char *graph; /* path from the instance's folder */
    uint32_t devices, micro_batches;
    uint32_t stages_of_a_device; /* at most; 0: any number */
    int64_t memory_bytes;        /* of every device; 0: no limit */
    double link_bandwidth, link_latency;
    double host_bandwidth, host_latency; /* of copies to a host and back; bandwidth 0: there is none */
    uint32_t copies_of_a_stage;          /* at most */
    uint32_t most_at_once;               /* micro-batches that a stage may take as one */
    const char *graph_at_once;           /* path of the costs of so many; NULL where that is 1 */
    objective objective;
    /* what is known of it */
    double best, bound;
    const char *found_by, *solution, *bound_from;

    graph_node *nodes;
    graph_tensor *tensors;
    graph_weight *weights;
    uint32_t node_count, tensor_count, weight_count;
    ons_map node_of, tensor_of;          /* by name */
    const graph_node *nodes_at_once;     /* of graph_at_once, with the numbers that `nodes` has */
    const graph_tensor *tensors_at_once; /* of graph_at_once, with the numbers that `tensors` has */
} instance;

/* Parses both files; what is wrong with them is ONS_INVALID_DATA. Texts in `arena`. Free with instance_free, on failure
 * too. */
ons_status *instance_parse(const void *json, size_t size, ons_arena *arena, instance *instance);
ons_status *instance_parse_graph(const void *json, size_t size, ons_arena *arena, instance *instance);
/* Parses the graph of most_at_once micro-batches; one with other nodes or tensors is ONS_INVALID_DATA. */
ons_status *instance_parse_graph_at_once(const void *json, size_t size, ons_arena *arena, instance *instance);
/* Gives the problem with the costs of so many micro-batches at once, on a straight line between both graphs. It shares
 * all else with `instance`, and is not freed. */
ons_status *instance_scale(const instance *in, uint32_t at_once, ons_arena *arena, instance *scaled);
/* Loads NAME.json in folder/problems, and its graph. */
ons_status *instance_load(const char *folder, const char *name, ons_arena *arena, instance *instance);
void instance_free(instance *instance);

#endif
