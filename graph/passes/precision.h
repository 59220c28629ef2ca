/* Mixed precision: decides which nodes of a forward graph compute in a lower type, and says so by casts in the graph.
 *
 * It runs on the bound and fused graph with its loss, before that is differentiated: the backward part then gets its
 * types from the rules, since the gradient of a cast is a cast. What an operator wants stands in its descriptor
 * (ons_roles_precision):
 *
 *   class     operators                                    its float32 operands become
 *   LOW       products of matrices, convolutions, …         the low type
 *   FOLLOWS   elementwise, norms, softmax, pooling, moves   the low type where one that is computed has it already
 *   FULL      losses, exponentials, sums, all others        float32
 *
 * A node whose operator refuses the low type for its operands stays in float32. Weights, running statistics, the
 * model's outputs and the loss keep their types: a weight is cast where it is read, so that its gradient comes back as
 * float32. A value is cast once for all that read it, and never back from what it was cast from. Constants are
 * converted here; what the low type cannot hold becomes its largest finite number, as masks must not make infinities.
 */
#ifndef ONSTAGE_GRAPH_PASSES_PRECISION_H
#define ONSTAGE_GRAPH_PASSES_PRECISION_H

#include "graph/passes/tracked.h"
#include "graph/registry.h"

/* What became of the nodes of one operator. */
typedef struct ons_precision_row {
    const ons_operator *op;
    uint32_t low, full; /* nodes */
} ons_precision_row;

typedef struct ons_precision_table {
    ons_precision_row *rows; /* by the operators' names; in the graph's arena */
    uint32_t count;
    uint32_t casts, weight_casts; /* nodes that were put in */
} ons_precision_table;

/* Nodes with float operands alone are counted in `table` (NULL: nobody asks). `low`: ONS_BFLOAT16 or ONS_FLOAT16. Ids
 * change. */
ons_status *ons_lower_precision(ons_graph *graph, const ons_registry *registry, ons_dtype low,
                                ons_tracked_values *tracked, ons_precision_table *table);

/* On the complete training or inference graph: casts of weights run once a step instead of once a micro-batch, and
 * those of one weight are joined. (Before differentiation each use has its own, and so its own gradient.) What is not
 * needed any more is left for ons_prune. */
ons_status *ons_share_weight_casts(ons_graph *graph, const ons_registry *registry);
/* The same of masters' casts alone (masters.h); those of the file stay as they are. */
ons_status *ons_share_master_casts(ons_graph *graph, const ons_registry *registry);

#endif
