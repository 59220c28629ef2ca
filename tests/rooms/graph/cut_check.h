/* What must hold of every cut. */
#ifndef ONSTAGE_TESTS_ROOMS_GRAPH_CUT_CHECK_H
#define ONSTAGE_TESTS_ROOMS_GRAPH_CUT_CHECK_H

#include "graph/passes/cut.h"

/* Fails the test, saying `where`: every node in one stage, or in those that need it; edges, attributes and keys of
 * random numbers as in the whole graph; transfers that match at both ends; nothing read before it is there. */
void cut_check(const ons_cut_options *options, const ons_cut *cut, const char *where);

/* Neither a view, nor done at the beginning of a step, nor the update of a weight. */
bool cut_runs_once(const ons_graph *whole, ons_node_id node);

/* The first part from which a value of a stage is there; ONS_PART_KINDS: never. */
ons_part cut_part_of_value(const ons_cut_stage *stage, ons_value_id value);

/* What is read in place of a value of the stage once it has come back or has been made again; ONS_NONE: nothing. */
ons_value_id cut_second_version(const ons_cut_stage *stage, ons_value_id value);

#endif
