/* The granularity says where a baseline may cut: at every node, or between layers alone, as the planners that it stands
 * for were published.
 */
#ifndef ONSTAGE_PLANNER_PARTITION_GRANULARITY_H
#define ONSTAGE_PLANNER_PARTITION_GRANULARITY_H

#include "planner/partition/partition.h"

/* Units [cuts[i], cuts[i + 1]) of positions, which stay together. */
typedef struct ons_granularity {
    uint32_t *cuts; /* count + 1; cuts[0] is 0, the last is the number of nodes */
    double *before; /* [i]: seconds of all units before i; count + 1 */
    uint32_t count;
    bool layers;
} ons_granularity;

/* Makes the units, in `arena`. Fails where there are fewer units than the pipeline has stages. */
ons_status *ons_granularity_make(const ons_stage_costs *costs, bool layers, ons_arena *arena,
                                 ons_granularity *granularity);

/* Splits `granularity` into stages: fills units[0 … stages], rising from 0 to granularity->count. */
typedef ons_status *ons_granularity_search(ons_stage_costs *costs, const ons_granularity *granularity, ons_arena *arena,
                                           uint32_t *units);

/* Makes an ons_partition_search of a search over units: what it found is evaluated, feasible or not. */
ons_status *ons_granularity_split(ons_stage_costs *costs, bool layers, ons_granularity_search *search, ons_arena *arena,
                                  ons_partition *partition);

/* Finds the least sum of squared stage times, so the least variance: this is the aim of GPipe, and vPipe begins there.
 */
ons_granularity_search ons_granularity_least_variance;

/* Defines ons_partition_NAME, at the granularity of layers, and ons_partition_NAME_nodes. */
#define ONS_GRANULARITY_STRATEGIES(identifier, name, search, summary)                                                  \
    static ons_status *split_layers(ons_stage_costs *costs, ons_arena *arena, ons_partition *partition) {              \
        return ons_granularity_split(costs, true, search, arena, partition);                                           \
    }                                                                                                                  \
    static ons_status *split_nodes(ons_stage_costs *costs, ons_arena *arena, ons_partition *partition) {               \
        return ons_granularity_split(costs, false, search, arena, partition);                                          \
    }                                                                                                                  \
    const ons_partition_strategy ons_partition_##identifier = {name, split_layers, summary ", whole layers"};          \
    const ons_partition_strategy ons_partition_##identifier##_nodes = {name "-nodes", split_nodes, summary}

#endif
