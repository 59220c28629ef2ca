/* Where a baseline may cut: at every node, or between layers alone, as the planners that it stands for were published.
 */
#ifndef ONSTAGE_PLANNER_PARTITION_GRAIN_H
#define ONSTAGE_PLANNER_PARTITION_GRAIN_H

#include "planner/partition/partition.h"

/* Units [cuts[i], cuts[i + 1]) of positions, which stay together. */
typedef struct ons_grain {
    uint32_t *cuts; /* count + 1; cuts[0] is 0, the last is the number of nodes */
    double *before; /* [i]: seconds of all units before i; count + 1 */
    uint32_t count;
    bool layers;
} ons_grain;

/* In `arena`. Fails where there are fewer units than the judge's pipeline has stages. */
ons_status *ons_grain_make(const ons_judge *judge, bool layers, ons_arena *arena, ons_grain *grain);

/* Splits `grain` into stages: fills units[0 … stages], rising from 0 to grain->count. */
typedef ons_status *ons_grain_search(ons_judge *judge, const ons_grain *grain, ons_arena *arena, uint32_t *units);

/* An ons_partition_search out of one over units: what it found is judged, feasible or not. */
ons_status *ons_grain_split(ons_judge *judge, bool layers, ons_grain_search *search, ons_arena *arena,
                            ons_partition *partition);

/* Least sum of squared stage times, so least variance: GPipe's aim, and where vPipe begins. */
ons_grain_search ons_grain_least_variance;

/* Defines ons_partition_NAME, at the grain of layers, and ons_partition_NAME_nodes. */
#define ONS_GRAIN_STRATEGIES(identifier, name, search, summary)                                                        \
    static ons_status *split_layers(ons_judge *judge, ons_arena *arena, ons_partition *partition) {                    \
        return ons_grain_split(judge, true, search, arena, partition);                                                 \
    }                                                                                                                  \
    static ons_status *split_nodes(ons_judge *judge, ons_arena *arena, ons_partition *partition) {                     \
        return ons_grain_split(judge, false, search, arena, partition);                                                \
    }                                                                                                                  \
    const ons_partition_strategy ons_partition_##identifier = {name, split_layers, summary ", whole layers"};          \
    const ons_partition_strategy ons_partition_##identifier##_nodes = {name "-nodes", split_nodes, summary}

#endif
