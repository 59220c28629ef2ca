/* What an operator's node is replaced by while a graph is bound: for decompositions and training forms (ons_forms). */
#ifndef ONSTAGE_GRAPH_PASSES_REPLACEMENT_H
#define ONSTAGE_GRAPH_PASSES_REPLACEMENT_H

#include "graph/operator.h"

/* What a graph is bound for. Operators with a training form choose theirs by it. */
typedef enum ons_as_exported { ONS_AS_GRAPH, ONS_AS_TRAINING, ONS_AS_INFERENCE } ons_as_exported;
struct ons_mode {
    bool training;             /* false: every normalisation and dropout in its inference form */
    ons_as_exported batchnorm; /* while training */
    ons_as_exported dropout;   /* while training; ONS_AS_TRAINING uses dropout_ratio */
    double dropout_ratio;
    uint32_t replicas; /* that normalise their micro-batches together while training; 0: each by itself */
    /* `batchnorm` of one node of the graph that is bound; NULL: all have the same. */
    ons_as_exported (*batchnorm_of)(const void *context, const ons_graph *graph, const ons_node *node);
    const void *context;
};

/* Build the node's replacement with `builder` from `inputs` and set every output (ONS_NONE for those that the new form
 * does not make), then set `replaced`; or leave it alone. */
struct ons_replacement {
    ons_builder *builder;
    const ons_operands *operands;
    const ons_value_id *inputs;
    ons_value_id *outputs;
    const bool *outputs_used; /* of each output, whether anything reads it */
    bool replaced;
    struct binder *binder; /* for the functions below; NULL: nobody binds, the replacement alone is wanted */
    const char *name;      /* of the node where it will stand */
};

/* Makes output 0 the result of an operator with one output; it is computed now where all inputs are known. */
ons_status *ons_replace_by(ons_replacement *m, const ons_operator *op, ons_inputs inputs, ons_settings settings);
/* Makes a value that leads to the results: of an operator with one output, computed now where all inputs are known. */
ons_status *ons_replacement_build(ons_replacement *m, const ons_operator *op, ons_inputs inputs, ons_settings settings,
                                  ons_value_id *result);

/* For operators with ONS_TRAIT_SEQUENCES, whose decomposition is all that they have: a sequence of tensors is a matter
 * of binding and known there, element by element. Its type among the operands is ONS_NO_DTYPE. */

/* Fails, naming the node, where the input is no sequence. */
ons_status *ons_replacement_sequence(const ons_replacement *m, uint32_t input, const ons_value_id **items,
                                     uint32_t *count);
/* Makes output 0 a sequence. */
ons_status *ons_replace_by_sequence(ons_replacement *m, const ons_value_id *items, uint32_t count);
/* A tensor cut into its indices along an axis, which disappears, and back. */
ons_status *ons_replacement_unstack(ons_replacement *m, ons_value_id value, uint32_t axis, ons_value_id *items);
ons_status *ons_replacement_stack(ons_replacement *m, const ons_value_id *items, uint32_t count, uint32_t axis,
                                  ons_value_id *result);

#endif
