/* The nodes that bench/choices.c measures: those of the networks of bench/pytorch/workloads.py that may have several
 * ways. */
#ifndef ONSTAGE_BENCH_CHOICES_NODES_H
#define ONSTAGE_BENCH_CHOICES_NODES_H

#include "kernels/case.h"
#include "kernels/common/choice/choices.h"

typedef struct ons_choice_node {
    const char *op;
    ons_choice_point point; /* of the node's questions, those that are measured */
    ons_case example;
    char name[96];
} ons_choice_node;

/* One after another, forward and backward; false behind the last. A node is valid until the next call. */
bool ons_choice_node_at(int index, ons_choice_node *node);

#endif
