/* How much a node of a graph has to do, as its operator states it: what a cost is made from. */
#ifndef ONSTAGE_PLANNER_COST_NODE_AMOUNT_H
#define ONSTAGE_PLANNER_COST_NODE_AMOUNT_H

#include "graph/operator.h"

typedef struct ons_node_amount {
    double flops;   /* a multiply-add is 2 */
    double bytes;   /* read and written */
    double written; /* bytes of its outputs, in ONNX's order */
    bool matrix;    /* a dense product or convolution (ONS_TRAIT_DENSE) */
    bool view;      /* nothing runs: the output is the input's bytes */
} ons_node_amount;

/* Needs some memory of `arena`. */
ons_status *ons_node_amount_find(const ons_graph *graph, ons_node_id node, ons_arena *arena, ons_node_amount *amount);

#endif
