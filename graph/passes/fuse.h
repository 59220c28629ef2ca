/* Finds the decomposed forms that operators declare (ons_pattern) and replaces them; runs on a bound forward graph. */
#ifndef ONSTAGE_GRAPH_PASSES_FUSE_H
#define ONSTAGE_GRAPH_PASSES_FUSE_H

#include "graph/operator.h"
#include "graph/registry.h"

/* Changes *graph in place. */
ons_status *ons_fuse(ons_graph **graph, const ons_registry *registry);

/* ---- for replace functions */

/* The builder for the replacement; its failure, if any, ends the pass. */
ons_builder *ons_match_builder(ons_match *match);

/* A captured value, by the word in the pattern; ONS_NONE where the pattern has no such word. */
ons_value_id ons_match_value(const ons_match *match, const char *word);
ons_type ons_match_type(const ons_match *match, const char *word);

/* Whether the value starts as `number` in every element: a constant, or a parameter that exporters write in its place.
 */
bool ons_match_is_filled(const ons_match *match, const char *word, double number);

/* The number that "?word" captured. */
double ons_match_scalar(const ons_match *match, const char *word);

/* The operands (types, attributes, constants) of an inner node that the pattern names: "m=ReduceMean(x)". The outermost
 * node of the pattern has the name "result". */
const ons_operands *ons_match_node(const ons_match *match, const char *name);

/* The outputs of a named inner node behind its first become those of `node`, which has room for them: running
 * statistics, say, which the replacement keeps from now on. */
void ons_match_hand_over(ons_match *match, const char *name, ons_node_id node);

#endif
