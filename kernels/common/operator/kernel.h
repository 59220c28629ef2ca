/* What many operators share: shape rules, cost rules, thread grain. */
#ifndef ONSTAGE_KERNELS_COMMON_OPERATOR_KERNEL_H
#define ONSTAGE_KERNELS_COMMON_OPERATOR_KERNEL_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "graph/operator.h"
#include "graph/registry.h"
#include "kernels/backend.h"

/* Elements below which a loop is not worth a second thread (a parallel region costs about 2 µs, a core makes
 * about 4 elements a nanosecond). */
enum { ONS_PARALLEL_GRAIN = 16 * 1024 };

/* Threads to compute a node with: all, or one where its work takes about as long as they take to meet. What decides is
 * the cost of the operator alone, so the same node has the same bits wherever as many threads are granted. */
int ons_team_size(const ons_prepare *p);

/* Elements of an operand; 1 for rank 0. */
static inline int64_t ons_elements(const ons_type *type) { return ons_shape_elements(&type->shape); }

/* ---- shape rules: each is an ons_infer_function */
ons_status *ons_infer_like_first(ons_operands *o);        /* every output has input 0's type */
ons_status *ons_infer_broadcast(ons_operands *o);         /* inputs broadcast; dtype of input 0, which all must have */
ons_status *ons_infer_broadcast_compare(ons_operands *o); /* inputs broadcast; bool */

/* ---- cost rules: each is an ons_cost_function */
ons_cost ons_cost_free(const ons_operands *o);        /* a view: nothing moves */
ons_cost ons_cost_copy(const ons_operands *o);        /* outputs written, as many elements read; no arithmetic */
ons_cost ons_cost_elementwise(const ons_operands *o); /* all operands once; one operation an output element */
ons_cost ons_cost_each_input(const ons_operands *o);  /* all operands once; one operation an element of input 0 */

/* Takes what an operator works out of its operands, which it does in one function: inference, which comes first,
 * reports that function's errors, so later callers have none. */
static inline void ons_resolved(ons_status *status) {
    assert(status == NULL);
    ons_status_free(status);
}

/* Bytes of all operands, each once. */
double ons_operand_bytes(const ons_operands *o);

/* A failure of this node: the node's name goes in front. */
ons_status *ons_node_error(const ons_operands *o, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- attributes by position */
static inline int64_t ons_attribute_int(const ons_operands *o, uint32_t index) { return o->attributes[index].i; }
static inline double ons_attribute_float(const ons_operands *o, uint32_t index) { return o->attributes[index].f; }
static inline const char *ons_attribute_string(const ons_operands *o, uint32_t index) { return o->attributes[index].s; }

/* The float attributes, in order, for a kernel; the others are passed over. */
void ons_take_float_attributes(const ons_operands *o, float *parameters, uint32_t count);

/* An axis attribute or value, resolved; fails with the node's name. */
ons_status *ons_node_axis(const ons_operands *o, int64_t axis, uint32_t rank, uint32_t *resolved);

/* For operators of a shard: fails unless [first, first + length) lies within the `whole` entries of an axis. */
ons_status *ons_node_shard(const ons_operands *o, int64_t first, int64_t length, int64_t whole);

/* The usual refusal of a CPU kernel: fails unless input 0, or another operand, is float32. */
ons_status *ons_require_float32(const ons_operands *o);
ons_status *ons_require_float32_of(const ons_operands *o, const ons_type *operand);

/* Fails where the plan grants less scratch than `bytes`, all that the node needs. */
ons_status *ons_require_scratch(const ons_prepare *p, int64_t bytes);

/* The type of a loss of `prediction`: a scalar in double where that is double, otherwise in float32. */
ons_type ons_loss_type(const ons_type *prediction);

/* For gradient rules: fails where a gradient comes from output `first` or a later one, which are there for backward
 * alone. */
ons_status *ons_refuse_cotangents(const ons_gradient *g, uint32_t first);

/* A kernel that needs nothing prepared but a copy of plain old data: ONS_NEW_STATE(pointer, p) lets the pointer, of the
 * state's type, point at new state in p->arena, all zero, and leaves the function where memory is short. */
#define ONS_NEW_STATE(pointer, p)                                                                                      \
    do {                                                                                                               \
        ONS_NEW(pointer, (p)->arena, 1);                                                                               \
        (p)->state = (pointer);                                                                                        \
    } while (0)

/* For operators without a state. */
ons_status *ons_prepare_nothing(ons_prepare *p);

/* For references: what the data cannot be. The first one that is told stays. */
static inline void ons_reference_fault(const ons_step *step, const char *problem, int64_t index, int64_t value) {
    if (step->fault == NULL || step->fault->problem != NULL) return;
    step->fault->problem = problem;
    step->fault->index = index;
    step->fault->value = value;
}

/* Rows and row length of `type` as a matrix with the given axis and all after it (or the last alone) as columns. */
static inline int64_t ons_rows_before(const ons_shape *shape, uint32_t axis) { return ons_shape_span(shape, 0, axis); }

#endif
