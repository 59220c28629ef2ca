/* Runs nodes by their operators' references: for folding constants, and for tests. Slow and exact. */
#ifndef ONSTAGE_GRAPH_EVALUATE_H
#define ONSTAGE_GRAPH_EVALUATE_H

#include "graph/operator.h"
#include "graph/registry.h"

/* Elements as 8-byte words (see ons_reference_function) from and to the bytes of a dtype. */
void ons_widen(ons_dtype dtype, const void *data, int64_t count, void *words);
void ons_narrow(ons_dtype dtype, const void *words, int64_t count, void *data);

/* Evaluates all nodes of the graph in order. `words[value]` holds the words of each value: those of inputs, states and
 * parameters are given by the caller (or taken from the store where NULL and the value has data); the rest is allocated
 * with malloc. Data that a node cannot take are an error with the node's name. After success or failure the caller
 * frees every pointer that it did not set, with free(). */
ons_status *ons_evaluate(const ons_graph *graph, const ons_step *step, void **words);

/* "target is no class … (element 1 is 12, the 10 classes are 0 to 9)"; returns `text`. */
enum { ONS_FAULT_TEXT = 320 };
const char *ons_fault_print(const ons_fault *fault, char text[ONS_FAULT_TEXT]);

/* What a kernel or a reference found wrong in the data of that node, ONS_INVALID_DATA; NULL where nothing. */
ons_status *ons_fault_status(const char *node, const ons_fault *fault);

/* Whether one node can be computed now: a reference, and contents known for all inputs. */
bool ons_can_fold(const ons_operands *o);

#endif
