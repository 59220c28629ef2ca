/* Compute-balanced: cut number x where the time so far is nearest to x / stages of all (DawnPiper, appendix A,
 * "Comp-ba", and rho_cb of section 4.2). Neither transfers nor memory are looked at. */
#include <math.h>

#include "planner/partition/granularity.h"

static ons_status *search_compute(ons_stage_costs *costs, const ons_granularity *granularity, ons_arena *arena,
                                  uint32_t *units) {
    uint32_t stages = ons_stage_costs_problem(costs)->pipeline.stages, cut = 0;
    units[0] = 0;
    units[stages] = granularity->count;
    for (uint32_t x = 1; x < stages; ++x) {
        double aim = granularity->before[granularity->count] * x / stages;
        uint32_t last = granularity->count - (stages - x); /* every stage behind it needs a unit */
        ++cut;
        for (uint32_t next = cut + 1; next <= last; ++next)
            if (fabs(granularity->before[next] - aim) <= fabs(granularity->before[cut] - aim)) cut = next;
        units[x] = cut;
    }
    return NULL;
}

ONS_GRANULARITY_STRATEGIES(compute_balanced, "compute-balanced", search_compute,
                           "cuts where the time so far is nearest to its share");
