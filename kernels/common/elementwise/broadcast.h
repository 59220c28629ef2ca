/* The engine below elementwise operators of several operands: walks operands whose shapes broadcast to the output's.
 *
 * Prepared once: neighbouring dimensions that every operand walks alike are merged, so that what is left has rank 1 for
 * equal shapes and scalars, rank 2 for a row or a column vector beside a matrix, and seldom more. The innermost
 * dimension is a span: every operand has it whole (step 1) or a single element of it (step 0). The operator's span
 * function does one span in a loop that the compiler vectorises; threads share the elements in contiguous ranges.
 *
 *     [8,128,64] + [64]      ──▶ dims 1024 × 64, steps (64,1) (0,1): 1024 spans "vector and vector"
 *     [8,128,64] - [8,128,1] ──▶ dims 1024 × 64, steps (64,1) (1,0): 1024 spans "vector and scalar"
 *     [8,128,64] * []        ──▶ dims 65536,     steps (1) (0):      1 span "vector and scalar"
 */
#ifndef ONSTAGE_KERNELS_COMMON_ELEMENTWISE_BROADCAST_H
#define ONSTAGE_KERNELS_COMMON_ELEMENTWISE_BROADCAST_H

#include "graph/upgrade.h"
#include "kernels/common/operator/kernel.h"

enum { ONS_BROADCAST_OPERANDS = 64, ONS_BROADCAST_PARAMETERS = 4 };

/* One span. The output may be the same memory as any input with step 1. */
typedef struct ons_span {
    void *output;
    const void *const *inputs;
    const int64_t *steps; /* of each input: 1, or 0 for one element that serves the whole span */
    uint32_t input_count;
    int64_t count;
    const float *parameters;
} ons_span;
typedef void ons_span_function(const ons_span *span);

typedef struct ons_broadcast {
    ons_span_function *function;
    uint32_t rank; /* after merging; at least 1 */
    uint32_t input_count;
    int64_t elements; /* of the output */
    int64_t grain;    /* elements below which one thread does it all */
    int64_t dims[ONS_RANK_MAX];
    int64_t (*strides)[ONS_RANK_MAX]; /* of each input, in elements; 0 where it repeats */
    int64_t *steps;                   /* of each input in the innermost dimension */
    size_t *input_sizes;              /* bytes of an element */
    size_t output_size;
    float parameters[ONS_BROADCAST_PARAMETERS];
} ons_broadcast;

/* Prepares p->state, an ons_broadcast over all inputs of the node, which are present and broadcast to output 0. */
ons_status *ons_broadcast_prepare(ons_prepare *p, ons_span_function *function, ons_broadcast **state);

/* An ons_run_function for a state made by ons_broadcast_prepare. */
void ons_broadcast_run(const ons_launch *launch);

/* The node with the axes of its operands as they lie in memory, from the outermost on, all in ONNX's order therefore:
 * one whose result has channels last becomes (N, spatial…, C), and what broadcasts to it has its axes in these places.
 */
ons_status *ons_broadcast_in_memory(const ons_operands *o, ons_arena *arena, ons_operands *seen);

/* For references: where element `index` of a tensor of shape `whole` lies in a tensor of shape `part` that broadcasts
 * to it. */
int64_t ons_broadcast_index(const ons_shape *whole, const ons_shape *part, int64_t index);

/* Before opset 7 broadcasting was asked for, by `broadcast` and an `axis` from which on the second operand matches the
 * first. PRelu had it without asking, from axis 1 on. */
ons_status *ons_upgrade_broadcast(ons_upgrade *u);
#define ONS_BROADCAST_FORMS ONS_FORMS(ons_upgrade_broadcast, ONS_NO_PATTERNS, NULL)
ons_status *ons_upgrade_align_second(ons_upgrade *u, int64_t axis);

/* Strides of `part` along the axes of `whole`; 0 where it has one element. */
static inline void ons_broadcast_strides(const ons_shape *whole, const ons_shape *part, int64_t strides[ONS_RANK_MAX]) {
    int64_t stride = 1;
    for (uint32_t i = 0; i < whole->rank; ++i) {
        uint32_t axis = whole->rank - 1 - i;
        int64_t size = i < part->rank ? part->dims[part->rank - 1 - i] : 1;
        strides[axis] = size == 1 ? 0 : stride;
        stride *= size;
    }
}

#endif
