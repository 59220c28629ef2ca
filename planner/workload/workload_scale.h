/* A workload for other micro-batches than it was made for. */
#ifndef ONSTAGE_PLANNER_WORKLOAD_WORKLOAD_SCALE_H
#define ONSTAGE_PLANNER_WORKLOAD_WORKLOAD_SCALE_H

#include "planner/workload/workload.h"

/* Sizes grow in a straight line with the samples, times nearly so: what `low` and `high` (of more samples, otherwise
 * the same model) have is drawn on to `samples`. An estimate that costs no graph: small tensors are rounded up to the
 * arena's alignment in both, and kernels grow more efficient. False where the two do not have the same nodes, tensors
 * and weights. The result is finished and shares names and lists with `low`. */
ons_status *ons_workload_scale(const ons_workload *low, const ons_workload *high, int64_t samples, ons_arena *arena,
                               ons_workload *result, bool *same);

#endif
