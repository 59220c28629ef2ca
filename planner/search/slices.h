/* AutoPipe's Slicer on the schedule of a plan: planner/schedule/slicer.h. */
#ifndef ONSTAGE_PLANNER_SEARCH_SLICES_H
#define ONSTAGE_PLANNER_SEARCH_SLICES_H

#include "planner/plan/plan.h"

/* Halves the forward parts of the plan's first `count` micro-batches; ONS_SLICES_AUTO: of as many as algorithm 2 says
 * from the seconds of its stages, none where two stages share a device. The plan's stages are filled in. */
ons_status *ons_plan_slice(ons_plan *plan, uint32_t count, ons_arena *arena);

/* Counts the micro-batches of which any forward part is in halves. */
uint32_t ons_plan_count_slices(const ons_plan *plan);

#endif
