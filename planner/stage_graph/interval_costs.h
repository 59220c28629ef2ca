/* Time and memory of a stage for any size of micro-batches and any number of replicas: what a search asks for. */
#ifndef ONSTAGE_PLANNER_STAGE_GRAPH_INTERVAL_COSTS_H
#define ONSTAGE_PLANNER_STAGE_GRAPH_INTERVAL_COSTS_H

#include "planner/stage_graph/stage_graph.h"

/* What stages are searched for. */
typedef struct ons_graph_problem {
    const ons_workload *const *work; /* [i]: of 2^i samples on one device; the same nodes, tensors and weights in all */
    uint32_t sizes;
    int64_t batch; /* samples of a step, at least one */
    uint32_t devices;
    uint32_t most_replicas; /* of a stage; 0: any number */
    const bool *joint; /* [node]: its stage computes all samples of a step at once, on one device; NULL: none has to */
    const ons_planning_problem *hardware; /* capacity and links between devices; nothing else of it is looked at */
} ons_graph_problem;

typedef struct ons_interval_costs ons_interval_costs;

/* `order`: the nodes' order that intervals are of; it must outlive the costs, as the problem must. Fails where sizes
 * and batch are not as said above. */
ons_status *ons_interval_costs_new(const ons_graph_problem *problem, const uint32_t *order, ons_interval_costs **costs);
void ons_interval_costs_free(ons_interval_costs *costs); /* NULL is fine */
const ons_graph_problem *ons_interval_costs_problem(const ons_interval_costs *costs);
/* The workload of 2^size samples in the order that intervals are of. */
const ons_workload *ons_interval_costs_work(const ons_interval_costs *costs, uint32_t size);

/* A way to run an interval as a stage. */
typedef struct ons_interval_way {
    uint32_t first, end;
    int64_t samples;  /* of a micro-batch, of all replicas: a power of two */
    uint32_t doubled; /* 2^doubled replicas */
} ons_interval_way;

/* Gives a lower bound of ons_interval_seconds, in O(1): computing alone. Infinite where there is no such way. */
double ons_interval_computing(const ons_interval_costs *costs, const ons_interval_way *way);
/* Gives the seconds that a step takes for each of its samples: forward and backward parts, or the messages that the
 * device sends or takes meanwhile where these take longer; the sum over replicas that nothing hides; the update.
 * Remembered. Infinite: no such way, or short memory. */
double ons_interval_seconds(ons_interval_costs *costs, const ons_interval_way *way);
/* Gives the memory of each replica with so many samples of all replicas in flight. INT64_MAX: no such way, or short
 * memory. */
int64_t ons_interval_bytes(ons_interval_costs *costs, const ons_interval_way *way, int64_t in_flight);

/* The parts of that time, for a simulation. */
typedef struct ons_interval_parts {
    double forward, backward; /* of a micro-batch */
    double reduce, update;    /* of a step */
} ons_interval_parts;
ons_interval_parts ons_interval_parts_of(ons_interval_costs *costs, const ons_interval_way *way);

/* Sets samples in flight, times and memory of all stages, and the bytes of all edges. */
ons_status *ons_stage_graph_predict(ons_stage_graph *graph, ons_interval_costs *costs);

#endif
