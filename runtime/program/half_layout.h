/* Where the buffers of half a micro-batch's program lie: what it makes for itself alone in scratch memory of its
 * forward part, all others where the whole micro-batch's program has them. See halves.h. */
#ifndef ONSTAGE_RUNTIME_PROGRAM_HALF_LAYOUT_H
#define ONSTAGE_RUNTIME_PROGRAM_HALF_LAYOUT_H

#include "graph/arena_layout.h"
#include "runtime/program/halves.h"

/* (*own)[buffer]: it lies in the scratch memory, whose size is layout->bytes; the layout has offsets of no others. In
 * `liveness` only those persistent buffers stay persistent that the half reads: it has no others. Results in `arena`.
 */
ons_status *ons_half_layout_make(const ons_graph *graph, const ons_halves *halves, const ons_execution_order *order,
                                 ons_liveness *liveness, ons_arena *arena, bool **own, ons_arena_layout *layout);

#endif
