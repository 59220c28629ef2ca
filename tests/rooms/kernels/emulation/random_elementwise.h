/* Random graphs of elementwise operators that all have CUDA kernels for their types; with Criterion. */
#ifndef ONSTAGE_TESTS_ROOMS_KERNELS_EMULATION_RANDOM_ELEMENTWISE_H
#define ONSTAGE_TESTS_ROOMS_KERNELS_EMULATION_RANDOM_ELEMENTWISE_H

#include "graph/graph.h"

typedef struct random_numbers {
    uint64_t seed, at;
} random_numbers;

/* A number from 0 on, below `below`. */
uint32_t random_draw(random_numbers *r, uint32_t below);

/* Asserts success; a failure names the seed. */
void random_check(ons_status *status, uint64_t seed);

/* The caller frees it. */
ons_graph *random_elementwise_graph(uint64_t seed, ons_store *store);

#endif
