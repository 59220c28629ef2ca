/* A plan whose stages form a graph: each stage has replicas, a size of micro-batches and an order of forward and
 * backward parts of its own, and waits for those stages alone whose results it reads (GraphPipe, section 3).
 *
 *   devices 0 1 ─▶ stage 0 ──┐
 *   device  2   ─▶ stage 1 ──┼─▶ stage 3 ◀─ devices 4 … 7      stages 0, 1 and 2 run at the same time
 *   device  3   ─▶ stage 2 ──┘
 *
 * Stages are intervals of an order of the nodes, and their numbers rise along the edges; every acyclic graph of stages
 * can be written so. Replicas of a stage share each of its micro-batches evenly.
 */
#ifndef ONSTAGE_PLANNER_STAGE_GRAPH_STAGE_GRAPH_H
#define ONSTAGE_PLANNER_STAGE_GRAPH_STAGE_GRAPH_H

#include "planner/partition/partition.h"
#include "planner/stage_graph/in_flight.h"

typedef struct ons_graph_stage {
    uint32_t first, end; /* positions */
    uint32_t first_device, replicas;
    ons_stage_pace pace; /* samples of a micro-batch, of all replicas together; kFkB */
    int64_t in_flight;   /* samples, of all replicas together: at most, by Table 2 */
    /* predicted */
    double seconds_per_sample; /* of a step: compute or messages, whichever takes longer, sums over replicas, update */
    int64_t memory_bytes;      /* of each replica */
} ons_graph_stage;

/* `to` waits for `from` in the forward parts, and `from` for `to` in the backward parts. */
typedef struct ons_graph_edge {
    uint32_t from, to;
    int64_t bytes;          /* that a replica of `from` sends for each of its micro-batches; 0: order alone */
    int64_t gradient_bytes; /* that a replica of `to` returns for each of its micro-batches */
} ons_graph_edge;

typedef struct ons_stage_graph {
    int64_t batch; /* samples of a step */
    uint32_t devices;
    const uint32_t *order; /* [position]: node */
    uint32_t node_count;
    ons_graph_stage *stages;
    ons_graph_edge *edges; /* ascending by `from`, then by `to` */
    uint32_t stage_count, edge_count;
    double seconds_per_sample; /* of the slowest stage */
    int64_t memory_bytes;      /* of the device that holds most */
} ons_stage_graph;

/* Micro-batches of the stage in a step. */
static inline uint32_t ons_graph_micro_batches(const ons_stage_graph *graph, uint32_t stage) {
    return (uint32_t)(graph->batch / graph->stages[stage].pace.samples);
}

/* Finds the stage's number at each position; node_count entries in `arena`. */
ons_status *ons_stage_graph_places(const ons_stage_graph *graph, ons_arena *arena, uint32_t **stage_at);

/* Makes the edges that the data of `work` (in the file's order) need, without their bytes; `line`: and one from each
 * stage to the next, as where a graph is run as a line. In `arena`. */
ons_status *ons_stage_graph_connect(ons_stage_graph *graph, const ons_workload *work, bool line, ons_arena *arena);

/* Sets the samples in flight of all stages by the edges, never more than the batch. */
void ons_stage_graph_set_in_flight(ons_stage_graph *graph);

/* Checks a plan against the paper's conditions, whoever made it; `work` has the nodes in the file's order:
 * C1  every node is in one stage, and no path leaves a stage and comes back;
 * C2  wherever a node reads another's result there is an edge between their stages, and edges make no circle;
 * C3  every device belongs to one stage, and every stage has one.
 * And: micro-batches divide the batch, and replicas a micro-batch; samples in flight are no fewer than Table 2's for
 * each edge, or all. The failure names stage and condition. C4 is of lists (stage_lists.h). */
ons_status *ons_stage_graph_check(const ons_stage_graph *graph, const ons_workload *work, ons_arena *arena);

#endif
