/* What a sequential pipeline makes of a model with branches: the yardstick of //bench:stage_graphs. */
#ifndef ONSTAGE_BENCH_STAGE_GRAPH_LINES_H
#define ONSTAGE_BENCH_STAGE_GRAPH_LINES_H

#include "planner/stage_graph/interval_costs.h"

typedef struct best_run {
    double step;      /* seconds, as simulated; infinite: nothing fits */
    double unordered; /* seconds of that plan's step where stages wait for data alone, and not for the stage before */
    int64_t samples;  /* of a micro-batch */
    uint32_t stages;
    uint32_t replicas; /* of the stage that has most */
    int64_t in_flight; /* samples, at the first stage */
    const char *order; /* of the nodes */
} best_run;

/* Tries all orders of nodes and, `samples` 0, all sizes of micro-batches: for each the division into a line of stages
 * whose slowest is fastest, exactly, with replicas (tests/rooms/planner/stage_divisions.h). The fastest step is taken.
 */
ons_status *run_best_line(const ons_graph_problem *problem, int64_t samples, best_run *best);

/* Gives seconds that no plan's step is shorter than: all devices compute without a pause, at the best of speeds. */
double least_step(const ons_graph_problem *problem);

/* Gives the line whose step is shortest that the search for graphs finds where it is asked for lines, in any order. */
ons_status *run_searched_line(const ons_graph_problem *problem, best_run *best);

/* Searches for a graph of stages; `samples` 0: with all sizes of micro-batches. */
ons_status *run_best_graph(const ons_graph_problem *problem, int64_t samples, best_run *best);

#endif
