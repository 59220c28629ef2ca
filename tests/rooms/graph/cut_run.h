/* Runs the stages of a cut beside the whole graph and compares all that they make, bit by bit. */
#ifndef ONSTAGE_TESTS_ROOMS_GRAPH_CUT_RUN_H
#define ONSTAGE_TESTS_ROOMS_GRAPH_CUT_RUN_H

#include "graph/passes/cut.h"

/* Two steps of three micro-batches (one, where `options` says that they do not repeat), in both. What a stage's forward
 * part makes and its backward part has swapped or computes again is overwritten in between. Fails the test, saying
 * `where`. Returns how many values that came back or were made again were compared. */
size_t cut_run(const ons_cut_options *options, const ons_cut *cut, const char *where);

#endif
