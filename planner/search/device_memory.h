/* Memory decisions of stages that share devices, where each device's stages are told apart by what they cost: those
 * that need little leave the rest to the others. */
#ifndef ONSTAGE_PLANNER_SEARCH_DEVICE_MEMORY_H
#define ONSTAGE_PLANNER_SEARCH_DEVICE_MEMORY_H

#include "planner/search/planner.h"
#include "planner/search/stage_memo.h"

/* What a device's stages but one may take beside it: as they are, or as little as they can with more time. */
typedef struct ons_device_rest {
    double seconds; /* for a micro-batch; infinite: it cannot be */
    int64_t bytes;
} ons_device_rest;

/* Evaluates the cuts of planned->partition, for planned->problem and its schedule, as ons_planned_evaluate does, but
 * with the capacity as that of each device's stages together; where all fit as they are nothing is decided. The
 * bottleneck is the slowest stage's time alone. Decisions are in `arena`. Devices are alike. The nodes of stages that
 * went to the memory strategy are added to `optimised_nodes`: they are what it costs. `memo`: of the same problem, but
 * for its cuts and schedule. */
ons_status *ons_device_memory_evaluate(ons_planned *planned, ons_stage_memo *memo, ons_arena *arena,
                                       uint64_t *optimised_nodes);

/* The stage of these nodes with as little memory as the problem's strategy can do; the capacity of `costs` changes. */
ons_status *ons_device_memory_least(ons_stage_memo *memo, ons_stage_costs *costs, uint32_t first, uint32_t end,
                                    uint32_t stage, ons_device_rest *least);

#endif
