/* What debug builds assert of every launch, so that no kernel has to: what an operator's descriptor, and the kernel
 * that was prepared, say of the operands. */
#ifndef ONSTAGE_RUNTIME_PROGRAM_LAUNCH_CHECK_H
#define ONSTAGE_RUNTIME_PROGRAM_LAUNCH_CHECK_H

#include "graph/operator.h"
#include "kernels/kernels.h"

typedef struct ons_launch_promise {
    const ons_graph *graph;
    const ons_node *node;
    const ons_operands *operands; /* that the kernel was prepared with */
    int64_t scratch_bytes;
    int64_t scratch_alignment;
    bool sliced; /* the operands are slices of the node's, and begin anywhere */
    bool halved; /* the operands are halves of others, and begin anywhere */
} ons_launch_promise;

/* Gives what does not hold; NULL: all does.
 *   dtype, rank, layout   values have the types that the kernel was prepared with; layouts are those of the operator's
 *                         policy
 *   alignment             operands begin at multiples of ONS_ARENA_ALIGNMENT, scratch where the backend wants it
 *   aliasing              what is written overlaps nothing that is read or written, but for an input whose place the
 *                         operator says that its output may take: all of it */
const char *ons_launch_broken_promise(const ons_launch_promise *promise, const ons_launch *launch);

#endif
