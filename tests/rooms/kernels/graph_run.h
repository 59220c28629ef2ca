/* A small graph, run node by node by a target's kernels: so that bits of two graphs can be compared. */
#ifndef ONSTAGE_TESTS_ROOMS_KERNELS_GRAPH_RUN_H
#define ONSTAGE_TESTS_ROOMS_KERNELS_GRAPH_RUN_H

#include "graph/graph.h"
#include "tests/rooms/kernels/target.h"

/* *values: the bytes of every value, by id, in its type and layout. What no node makes has its constant, or numbers in
 * [-1, 1] that follow from its name, the same in every graph; an ONS_BUFFER has some in [0.5, 1.5]. Free them in any
 * case. */
ons_status *ons_graph_run(const ons_graph *graph, const ons_target *target, void ***values);
void ons_graph_run_free(const ons_graph *graph, void **values); /* NULL is fine */

#endif
