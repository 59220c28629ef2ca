/* Where the samples of a batch go in a graph that was bound: what proves that they stand along another axis than the
 * one that they are taken from. */
#ifndef ONSTAGE_GRAPH_PASSES_SAMPLES_H
#define ONSTAGE_GRAPH_PASSES_SAMPLES_H

#include "graph/registry.h"

/* A recurrent node that takes the samples along axis 0 of an input for steps of time. */
typedef struct ons_time_as_samples {
    ons_node_id node; /* ONS_NONE: there is none */
    size_t input;     /* the first input whose samples reach it so, counted among the graph's inputs, ... */
    uint32_t axis;    /* ... and the axis of it that the node takes for samples; 0: it is not known */
} ons_time_as_samples;
ons_status *ons_find_time_as_samples(const ons_graph *bound, const ons_registry *registry, ons_time_as_samples *found);

/* The axis of each output that counts samples, where axis 0 of the inputs does; 0 where it is that, or not known. */
ons_status *ons_find_output_samples(const ons_graph *bound, const ons_registry *registry, uint32_t *axes);

/* The first node where values that are the same for all samples meet a batch, and name places in it or mix its samples.
 * `constant`: of each node, whether such values are among its operands. ONS_NONE: there is none. */
ons_status *ons_find_mixing_constant(const ons_graph *bound, const ons_registry *registry, const bool *constant,
                                     ons_node_id *found);

#endif
