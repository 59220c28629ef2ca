/* Chooses how values lie in memory, and puts explicit reorder nodes where two nodes disagree (ons_layout_rule). Runs on
 * the complete training or inference graph, before anything is partitioned or placed. */
#ifndef ONSTAGE_GRAPH_PASSES_LAYOUT_H
#define ONSTAGE_GRAPH_PASSES_LAYOUT_H

#include "graph/passes/tracked.h"
#include "graph/registry.h"

/* Whose kernels the layouts are for. An operator's rule answers for its CPU kernel where floats are float32, and for
 * its CUDA kernel where they are half types, which the CPU's kernels do not compute in. For CUDA all rules are asked as
 * if floats were half types: layouts do not depend on the precision of each node. */
typedef enum ons_layout_kernels { ONS_LAYOUTS_FOR_CPU, ONS_LAYOUTS_FOR_CUDA } ons_layout_kernels;

typedef struct ons_layout_choice_options {
    ons_layout_kernels kernels;
    /* What a step brings up to date (trained weights, their optimiser's states, sums of gradients) lies from step to
     * step in the layout in which the gradient comes, where that takes no more bytes than ONNX's order. Whoever reads
     * or writes it from outside reorders it (ons_registry's relayout). */
    bool keeps_weights;
    const ons_graph *like; /* in which what persists has its layouts already, by name; NULL: there is none */
} ons_layout_choice_options;

/* Ids change. */
ons_status *ons_choose_layouts(ons_graph *graph, const ons_registry *registry, const ons_layout_choice_options *options,
                               ons_tracked_values *tracked);

#endif
