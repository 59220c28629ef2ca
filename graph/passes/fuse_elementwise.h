/* Joins elementwise nodes that feed each other into one node, for devices that compute such a node in one kernel: what
 * they hand to each other is then no value of the graph any more, so nothing that plans memory sees it.
 *
 * Runs on the complete training or inference graph, before anything is partitioned, and looks at nothing of partition:
 * a cut goes round a fused node like round any other. A group
 *   - has one shape, that of all its results; operands broadcast to it;
 *   - has one phase. Backward nodes stand for one node of the forward graph, fused or not, so that they go where that
 *     node goes;
 *   - does not go round a node outside of it: whatever depends on the group is no operand of the group.
 * Results that others read, or that are outputs of the graph, become outputs of the fused node. */
#ifndef ONSTAGE_GRAPH_PASSES_FUSE_ELEMENTWISE_H
#define ONSTAGE_GRAPH_PASSES_FUSE_ELEMENTWISE_H

#include "graph/operator.h"
#include "graph/passes/tracked.h"

/* What can be fused, and into what. */
typedef struct ons_elementwise_fusion {
    const ons_operator *fused; /* attribute 0: the steps' texts with ';' between; attribute 1: the steps that are
                                  outputs, numbered from the number of inputs on */
    uint32_t inputs_max, outputs_max, steps_max;
    uint32_t uses_max; /* operands of all steps together */
    bool (*takes)(const ons_operands *o);
    /* A step's text, of its operands' numbers, ONS_NONE where one is left out; false where it has no room. */
    bool (*write_step)(const ons_operands *o, const uint32_t *inputs, char *text, size_t size);
} ons_elementwise_fusion;

/* Ids change. */
ons_status *ons_fuse_elementwise(ons_graph *graph, const ons_elementwise_fusion *fusion, ons_tracked_values *tracked);

#endif
