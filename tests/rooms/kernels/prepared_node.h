/* A case's node as a program has it: prepared, with memory for its operands and scratch, to be run over and over. */
#ifndef ONSTAGE_TESTS_ROOMS_KERNELS_PREPARED_NODE_H
#define ONSTAGE_TESTS_ROOMS_KERNELS_PREPARED_NODE_H

#include "tests/rooms/kernels/fixture.h"
#include "tests/rooms/kernels/target.h"

typedef struct ons_prepared_node {
    ons_arena *arena;
    ons_operands operands;
    ons_prepare prepare;
    const ons_kernel *kernel;
    ons_buffer *inputs, *outputs, scratch;
    ons_launch launch;
    ons_fault fault;
    size_t bytes; /* of operands and scratch */
} ons_prepared_node;

/* On the CPU. `layouts`: in those that the operator chooses, as in a program, instead of ONNX's order; what lies in
 * operands of a layout of their own is then no certain order of the case's numbers. The fixture stays alive longer.
 * Free it in any case; it must not move. */
ons_status *ons_prepared_node_init(ons_prepared_node *node, ons_fixture *fixture, int threads, bool layouts);
void ons_prepared_node_free(ons_prepared_node *node);

void ons_prepared_node_run(const ons_prepared_node *node);

#endif
