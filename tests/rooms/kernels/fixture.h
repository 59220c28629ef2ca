/* A case of an operator brought to life: a graph of one node, its inputs' contents, and the results of the reference.
 */
#ifndef ONSTAGE_TESTS_ROOMS_KERNELS_FIXTURE_H
#define ONSTAGE_TESTS_ROOMS_KERNELS_FIXTURE_H

#include "graph/operator.h"
#include "graph/registry.h"
#include "kernels/case.h"

typedef struct ons_fixture {
    const ons_registry *registry;
    const ons_operator *op;
    const ons_case *example; /* the case */
    uint64_t seed;
    ons_step step;
    ons_store store;
    ons_graph *graph; /* inputs are ONS_INPUT values, or ONS_CONSTANT where the case says so; outputs are the graph's */
    ons_arena *arena;
    ons_node_id node;
    ons_operands operands;  /* outputs that the case does not ask for are ONS_NO_DTYPE */
    void **input_words;     /* 8-byte words as in ons_reference_function; NULL where left out */
    void **reference_words; /* of every output; NULL until ons_fixture_reference */
} ons_fixture;

/* Fails where the case does not fit the operator's declarations or its shapes cannot be inferred. Free it in any case.
 */
ons_status *ons_fixture_init(ons_fixture *fixture, const ons_registry *registry, const ons_operator *op,
                             const ons_case *example, uint64_t seed);
void ons_fixture_free(ons_fixture *fixture);

/* Computes reference_words. Fails where the reference reports a fault that the case does not expect, or none where it
 * expects one. */
ons_status *ons_fixture_reference(ons_fixture *fixture);

/* Fails unless the fault is what the case expects. */
ons_status *ons_fixture_check_fault(const ons_fixture *fixture, const char *who, const ons_fault *fault);

/* How many outputs the case asks for. */
uint32_t ons_case_outputs(const ons_case *example);

/* A uniform number in [0, 1) of the fixture's own stream `stream`, at `index`. */
double ons_fixture_uniform(const ons_fixture *fixture, uint32_t stream, int64_t index);

/* "Softmax/large_values" */
enum { ONS_CASE_TEXT = 128 };
const char *ons_case_print(const ons_operator *op, const ons_case *example, char text[static ONS_CASE_TEXT]);

#endif
