/* Runs a graph node by node with the kernels of the CPU, every value in memory of its own: slow, and nothing can be
 * hidden by sharing memory. Whatever is read must have been made, or set, since it was last forgotten. */
#ifndef ONSTAGE_TESTS_ROOMS_GRAPH_WALKER_H
#define ONSTAGE_TESTS_ROOMS_GRAPH_WALKER_H

#include "graph/registry.h"

typedef struct walker walker;

/* Parameters, constants, states and buffers hold their first contents. */
walker *walker_open(const ons_graph *graph, const ons_registry *registry);
void walker_close(walker *w);

/* Fails the test where an input of the node is not there. */
void walker_run(walker *w, ons_node_id node, const ons_step *step);

/* The bytes of a value that is there; fails the test where it is not. */
const void *walker_read(const walker *w, ons_value_id value);
/* Copies `bytes` in; the value is there. */
void walker_write(walker *w, ons_value_id value, const void *bytes);
/* The value is gone, its memory overwritten. */
void walker_forget(walker *w, ons_value_id value);
bool walker_has(const walker *w, ons_value_id value);
size_t walker_bytes(const walker *w, ons_value_id value);

/* Whether the value keeps its contents from step to step: held, or new contents of a held one. */
bool walker_is_held(const ons_graph *graph, ons_value_id value);

#endif
