/* From a graph as imported to one ready to run: dimensions bound to numbers, every type inferred, everything that
 * depends on constants alone computed, constant branches taken, identities and dead nodes gone, and normalisation and
 * dropout put into the form for training or inference. The result is a new graph over the same store. */
#ifndef ONSTAGE_GRAPH_PASSES_BIND_H
#define ONSTAGE_GRAPH_PASSES_BIND_H

#include "graph/operator.h"
#include "graph/registry.h"

typedef enum ons_as_exported { ONS_AS_GRAPH, ONS_AS_TRAINING, ONS_AS_INFERENCE } ons_as_exported;

typedef struct ons_mode {
    bool training;             /* false: every normalisation and dropout in its inference form */
    ons_as_exported batchnorm; /* while training */
    ons_as_exported dropout;   /* while training; ONS_AS_TRAINING uses dropout_ratio */
    double dropout_ratio;
    uint32_t replicas; /* that normalise their micro-batches together while training; 0: each by itself */
} ons_mode;

/* What an operator's mode function gets: build the node's replacement with `builder` from `inputs` and set every output
 * (ONS_NONE for those that the new form does not make), then set `replaced`; or leave it alone. */
struct ons_mode_change {
    ons_builder *builder;
    const ons_operands *operands;
    const ons_value_id *inputs;
    ons_value_id *outputs;
    const bool *outputs_used; /* of each output, whether anything reads it */
    ons_mode mode;
    bool replaced;
    struct binder *binder; /* for the functions below */
    const char *name;      /* of the node where it will stand */
};

/* For operators with ONS_TRAIT_LISTS, whose mode function is all that they have: a list of tensors is a matter of
 * binding and known there, element by element. Its type among the operands is ONS_NO_DTYPE. */

/* Fails, naming the node, where the input is no list. */
ons_status *ons_mode_list(const ons_mode_change *m, uint32_t input, const ons_value_id **items, uint32_t *count);
/* Makes output 0 a list. */
ons_status *ons_mode_set_list(ons_mode_change *m, const ons_value_id *items, uint32_t count);
/* Makes output 0 the result of an operator with one output; it is computed now where all inputs are known. */
ons_status *ons_mode_set(ons_mode_change *m, const ons_operator *op, ons_inputs inputs, ons_settings settings);
/* The same for a value on the way there. */
ons_status *ons_mode_build(ons_mode_change *m, const ons_operator *op, ons_inputs inputs, ons_settings settings,
                           ons_value_id *result);
/* A tensor cut into its indices along an axis, which disappears, and back. */
ons_status *ons_mode_unstack(ons_mode_change *m, ons_value_id value, uint32_t axis, ons_value_id *items);
ons_status *ons_mode_stack(ons_mode_change *m, const ons_value_id *items, uint32_t count, uint32_t axis,
                           ons_value_id *result);

/* A dimension given by name ("--dim N=4"), or the full shape of an input ("from the arrays"). */
typedef struct ons_binding {
    const char *symbol; /* or NULL */
    const char *input;  /* or NULL */
    int64_t size;
    ons_shape shape;
} ons_binding;

typedef struct ons_bind_options {
    const ons_binding *bindings;
    size_t binding_count;
    int64_t batch;    /* samples of a micro-batch: the size of axis 0 of inputs where it is symbolic; 0: not given */
    int64_t fallback; /* size of symbols that nothing binds; 0: they are an error */
    ons_mode mode;
    int64_t folded_most; /* elements and operations of what is computed beforehand, together; 0: ONS_FOLDED_MOST */
} ons_bind_options;

/* 2 GiB of floats, or some seconds: nodes beyond it are computed in every step, or refused where there is no node for
 * it. */
#define ONS_FOLDED_MOST ((int64_t)1 << 29)

/* What stands in the way of binding, one entry a problem. `check` lists them all; others stop at the first. */
typedef struct ons_blocker {
    const char *node; /* or value */
    const char *operator_name;
    const char *reason;
    const char *remedy;
} ons_blocker;
typedef ONS_VECTOR(ons_blocker) ons_blockers;

/* `blockers` NULL: the first problem is the failure. Otherwise problems that belong to a node are appended (texts in
 * the bound graph's arena) and binding goes on past them as far as it can; *bound is then not fit to run. */
ons_status *ons_bind(const ons_graph *imported, const ons_registry *registry, const ons_bind_options *options,
                     ons_blockers *blockers, ons_graph **bound);

#endif
