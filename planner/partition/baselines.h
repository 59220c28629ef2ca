/* The splits of all baselines, so that what is better than none of them is not called best. */
#ifndef ONSTAGE_PLANNER_PARTITION_BASELINES_H
#define ONSTAGE_PLANNER_PARTITION_BASELINES_H

#include "planner/partition/partition.h"

enum { ONS_BASELINES = 16 };

typedef struct ons_baseline_splits {
    uint32_t *first[ONS_BASELINES]; /* stages + 1 positions each; all different */
    uint32_t count;
} ons_baseline_splits;

/* Finds the splits that go by times or bytes alone, which takes hardly any time, and vPipe's, by layers with its own
 * memory optimisation; in small graphs also by nodes, and with the problem's own. They may not fit:
 * ons_partition_evaluate says whether they do. In `arena`. */
ons_status *ons_baselines_split(ons_stage_costs *costs, ons_arena *arena, ons_baseline_splits *splits);

#endif
