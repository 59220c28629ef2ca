/* Joins products of matrices with what is done to their operands and results, for devices whose libraries do both in
 * one go:
 *   - an elementwise function of a product's result, the result itself kept where others read it: an activation behind
 *     a layer, its slope behind the gradient that the next layer hands back, or something that is added, such as the
 *     residual stream;
 *   - the sum over all dims but the last of a product's operand: the gradient of a bias beside that of the weight.
 * Views between the two nodes are looked through.
 *
 * Runs on the complete training or inference graph before anything is partitioned, and looks at nothing of partition.
 * A joined node stands where the product stood, has its name, and stands for the same node of the forward graph: of
 * two backward nodes that stand for different ones, what the function reads beside the product goes along with the
 * product, also to another stage. Forward nodes are joined first. */
#ifndef ONSTAGE_GRAPH_PASSES_FUSE_GEMM_H
#define ONSTAGE_GRAPH_PASSES_FUSE_GEMM_H

#include "graph/operator.h"
#include "graph/passes/tracked.h"

typedef struct ons_fused_gemm {
    const ons_operator *op;
    ons_attribute attributes[4]; /* as many as the operator declares */
} ons_fused_gemm;

/* What can be joined, and into what; false where it cannot. */
typedef struct ons_gemm_fusion {
    /* `function`, whose input `operand` is the product's result, perhaps in another shape. The node gets the product's
     * inputs, then the function's others; output 0 is the function's in the product's shape, output 1 the product's
     * own, where `keeps`. */
    bool (*with_function)(const ons_operands *product, const ons_operands *function, uint32_t operand, bool keeps,
                          ons_fused_gemm *joined);
    /* `sum`, whose input 0 is the product's input `operand`, perhaps in another shape. The node gets the product's
     * inputs; output 0 is the product's, output 1 a vector, the sum's elements. NULL: no sum can. */
    bool (*with_sum)(const ons_operands *product, const ons_operands *sum, uint32_t operand, ons_fused_gemm *joined);
} ons_gemm_fusion;

/* Ids change. */
ons_status *ons_fuse_gemm(ons_graph *graph, const ons_registry *registry, const ons_gemm_fusion *fusion,
                          ons_tracked_values *tracked);

#endif
