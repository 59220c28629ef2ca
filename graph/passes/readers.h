/* What the nodes of a graph use a value as. An exporter's initialisers carry no word of their purpose, so whether one
 * is a weight, a mask or an epsilon is decided by its readers (classify.h, tables.h). */
#ifndef ONSTAGE_GRAPH_PASSES_READERS_H
#define ONSTAGE_GRAPH_PASSES_READERS_H

#include "graph/operator.h"

typedef enum ons_reading {
    ONS_READ_ADDED = 1 << 0,       /* a summand, as biases and masks are */
    ONS_READ_ELEMENTWISE = 1 << 1, /* an operand of another elementwise operator */
    ONS_READ_STATE = 1 << 2,       /* what a recurrence starts from */
    ONS_READ_COORDINATES = 1 << 3, /* places in another tensor */
    ONS_READ_ROOTED = 1 << 4,      /* a summand of what only square roots read, as epsilons are */
    ONS_READ_OTHERWISE = 1 << 5,   /* a matrix, say, or an output of the graph */
} ons_reading;

/* All of its readings together, those of its copies, views and pieces and those within branches and bodies included; 0:
 * nothing reads it. */
uint32_t ons_readings(const ons_graph *graph, ons_value_id value);

/* Whether output 0 holds the same numbers as input 0. */
bool ons_moves_elements(const ons_node *node);

/* What a branch or body has of a value of the graph around it; ONS_NONE. */
ons_value_id ons_captured(const ons_graph *graph, ons_value_id value, const ons_graph *inner);

#endif
