/* From a graph as imported to one ready to run: dimensions bound to numbers, every type inferred, everything that
 * depends on constants alone computed, constant branches taken, identities and dead nodes gone, and normalisation and
 * dropout put into the form for training or inference. The result is a new graph over the same store. */
#ifndef ONSTAGE_GRAPH_PASSES_BIND_H
#define ONSTAGE_GRAPH_PASSES_BIND_H

#include "graph/blocker.h"
#include "graph/passes/replacement.h"
#include "graph/registry.h"

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
    int64_t folded_most; /* in place of ONS_FOLDED_MOST, in its units; 0: that */
} ons_bind_options;

/* How much is computed beforehand of what depends on constants alone. Nodes beyond either limit are computed in every
 * step, or refused where their operator has no kernel for that (ONS_TRAIT_CONSTANT).
 *
 * ONS_FOLDED_MOST is for the whole graph: elements of all outputs that were computed, and the operations for them, in
 * one sum. It is 2 GiB of floats, or some seconds. ONS_FOLDED_NODE_MOST is for one node, however much of the first is
 * left: the elements of its inputs and outputs together, and its operations, each for itself. The plain reference
 * computes a node from words of 8 bytes, so that this many take 1 GiB while it runs. */
#define ONS_FOLDED_MOST      ((int64_t)1 << 29)
#define ONS_FOLDED_NODE_MOST ((int64_t)1 << 27)

/* `blockers` NULL: the first problem is the failure. Otherwise problems that belong to a node are appended (texts in
 * the bound graph's arena) and binding goes on past them as far as it can; *bound is then not fit to run. */
ons_status *ons_bind(const ons_graph *imported, const ons_registry *registry, const ons_bind_options *options,
                     ons_blockers *blockers, ons_graph **bound);

#endif
