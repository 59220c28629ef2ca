/* Workloads of graphs with branches, for any number of samples: what planners of stage graphs are tried on. */
#ifndef ONSTAGE_TESTS_ROOMS_PLANNER_BRANCH_WORK_H
#define ONSTAGE_TESTS_ROOMS_PLANNER_BRANCH_WORK_H

#include "tests/rooms/planner/random_work.h"

enum { BRANCH_SIZES_MOST = 16 };

/* A node whose costs are straight lines over the samples. */
typedef struct branch_node {
    const char *name;
    double fixed_seconds, seconds; /* of the forward part: of a micro-batch, and of each of its samples */
    double backward;               /* the backward part takes so many times that: half of it input gradients */
    double update_seconds;
    int64_t weight_bytes; /* its gradient has as many, the optimiser's state twice as many */
    int64_t output_bytes; /* of a sample; readers keep it for their backward part */
    int64_t inner_bytes;  /* of a sample: what the node keeps beside that */
    uint32_t *inputs;     /* nodes, ascending; none: it reads data */
    uint32_t input_count;
} branch_node;

/* A graph that grows by a node at a time, each behind those that it reads. */
typedef struct branch_graph {
    ons_arena *arena;
    const char *name;
    branch_node *nodes;
    uint32_t count, room;
} branch_graph;

ons_status *branch_graph_new(const char *name, uint32_t most_nodes, ons_arena *arena, branch_graph *graph);
/* Adds a node; `inputs` are copied. Gives its number. */
ons_status *branch_graph_add(branch_graph *graph, const branch_node *node, uint32_t *number);

/* Makes the workload of so many samples, finished; in the graph's arena. */
ons_status *branch_graph_work(const branch_graph *graph, int64_t samples, ons_workload *work);
/* Makes those of 1, 2, 4, … samples; `list[i]` of 2^i. */
ons_status *branch_graph_works(const branch_graph *graph, uint32_t sizes, const ons_workload *const **list);

/* Two towers of `length` nodes each and a head that reads both; every node takes `seconds` for a forward part and twice
 * that for a backward part, whatever the samples, and makes 1,000 bytes a sample. */
ons_status *two_towers(uint32_t length, double seconds, ons_arena *arena, branch_graph *graph);

/* A random series-parallel graph: rows and branches within each other. The name tells the seed. */
ons_status *random_series_parallel(uint64_t seed, uint32_t nodes, ons_arena *arena, branch_graph *graph);
/* Random dependencies, series-parallel or not. */
ons_status *random_dependencies(uint64_t seed, uint32_t nodes, ons_arena *arena, branch_graph *graph);

#endif
