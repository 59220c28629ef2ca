/* Gives the values of a half's graph the ids that the whole micro-batch's graph has for them. */
#ifndef ONSTAGE_RUNTIME_PROGRAM_HALVES_ALIGN_H
#define ONSTAGE_RUNTIME_PROGRAM_HALVES_ALIGN_H

#include "graph/passes/cut.h"

/* Passes may make constants for one number of samples that they do not need for another, so ids differ where the nodes
 * are the same. Values that stand at the same place of the same node correspond to each other; what the half has beside
 * them gets ids behind the whole's, and for what it lacks an empty constant takes the place. Changes the half's graph
 * and its lists of transfers and swaps (`value_of` stays). ONS_UNSUPPORTED names the first node that is another one. */
ons_status *ons_halves_align(const ons_cut_stage *whole, const ons_cut_stage *half);

#endif
