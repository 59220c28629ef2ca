/* GraphPipe's search (Algorithm 1): stages that form a graph, found by bisection of the time that the slowest of them
 * takes for a sample of the step, with the dynamic program of division_search.h as the test. */
#ifndef ONSTAGE_PLANNER_STAGE_GRAPH_GRAPHPIPE_H
#define ONSTAGE_PLANNER_STAGE_GRAPH_GRAPHPIPE_H

#include "planner/stage_graph/division_search.h"

/* What stages may choose from. */
typedef enum ons_pace_choice {
    ONS_PACE_EQUAL, /* 1F1B with one size of micro-batches for all stages but joint ones: the paper's default */
    ONS_PACE_FREE,  /* sizes by stage, from a quarter of the largest on, in turns of one or two micro-batches that
                        have no more samples than the largest; and all samples at once where nodes are joint */
} ons_pace_choice;

typedef struct ons_graphpipe_options {
    bool line; /* stages of the nodes as they stand, each waiting for the one before it */
    ons_pace_choice paces;
    /* Of one size of micro-batches: the plan whose slowest stage is fastest, as in the paper; or, by schedule, the one
     * whose step is shortest of that and of plans with fewer stages in a row and a slower one among them. */
    ons_objective objective;
    int64_t samples; /* of a micro-batch, the largest where they differ; 0: all powers of two that divide the batch are
                        tried, and the fastest step, as simulated, is taken */
} ons_graphpipe_options;

typedef struct ons_graphpipe_result {
    bool feasible;
    ons_stage_graph graph;      /* where feasible */
    double step_seconds;        /* as simulated */
    uint64_t converted;         /* pairs of nodes that lost their freedom (series_parallel.h) */
    uint32_t division_searches; /* how often the dynamic program was run */
} ons_graphpipe_result;

/* Searches. By the bottleneck, the slowest stage is the fastest possible within a millionth, for each size of
 * micro-batches; samples in flight are the fewest with which it is, and then memory is the least. By schedule, memory
 * is spared where the step is no longer for it. Where nothing fits, `feasible` is false. In `arena`. */
ons_status *ons_graphpipe_search(const ons_graph_problem *problem, const ons_graphpipe_options *options,
                                 ons_arena *arena, ons_graphpipe_result *result);

#endif
