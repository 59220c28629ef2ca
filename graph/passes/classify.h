/* What the importer cannot see at one initialiser alone: which of them are weights, and which only look like it.
 *
 * Exporters write what a module calls a parameter as an initialiser with its shape, and the numbers of a computation (a
 * scale, an epsilon) as Constant nodes or with rank 0. A float initialiser of rank ≥ 1 is a weight (also of one
 * element: a learned temperature, the bias of a layer with one output), but for these, which become ONS_CONSTANT:
 *
 * | reason        | what it is                                                                                       |
 * |---------------|--------------------------------------------------------------------------------------------------|
 * | ONS_SCALAR    | one element that an exporter named a constant and that no operator other than an elementwise one |
 * |               | reads or adds, below a square root apart                                                         |
 * | ONS_COMPUTED  | what the exporter computed from parameters, and elementwise operators alone read, since training |
 * |               | it is not training them. What is read otherwise is the better kept as a weight: without it a     |
 * |               | layer would not be trained at all                                                                |
 * | ONS_FILLED    | what a program filled with one number (zeros_like, ones, full) and PyTorch's newer exporter      |
 * |               | folded, under the name of what made it                                                           |
 * | ONS_MASK, …   | tables that a program computes: graph/passes/tables.h                                            |
 * | ONS_SINUSOIDS | sines and cosines: graph/passes/sinusoid.h                                                       |
 *
 * What Constant nodes state is a weight where its neighbours leave no doubt (graph/passes/constants.h), and none of the
 * reasons above holds.
 */
#ifndef ONSTAGE_GRAPH_PASSES_CLASSIFY_H
#define ONSTAGE_GRAPH_PASSES_CLASSIFY_H

#include "graph/graph.h"

/* Names initialisers that the user wants trained: floats of any reason become weights. */
typedef struct ons_insistence {
    bool (*on)(const void *context, const char *name);
    const void *context;
} ons_insistence;

/* On a graph as imported. `insistence` NULL: the user wants nothing in particular. */
ons_status *ons_classify(ons_graph *graph, const ons_insistence *insistence);

/* For the rules: unless the reason is ONS_WEIGHT, or the user insists. */
void ons_make_constant(ons_graph *graph, ons_value_id id, ons_role_reason reason, const ons_insistence *insistence);

#endif
