/* Compute-balanced: cut number x where the time so far is nearest to x / stages of all (DawnPiper, appendix A,
 * "Comp-ba", and rho_cb of section 4.2). Neither transfers nor memory are looked at. */
#include <math.h>

#include "planner/partition/grain.h"

static ons_status *search(ons_judge *judge, const ons_grain *grain, ons_arena *arena, uint32_t *units) {
    uint32_t stages = ons_judge_problem(judge)->pipeline.stages, cut = 0;
    units[0] = 0;
    units[stages] = grain->count;
    for (uint32_t x = 1; x < stages; ++x) {
        double aim = grain->before[grain->count] * x / stages;
        uint32_t last = grain->count - (stages - x); /* every stage behind it needs a unit */
        ++cut;
        for (uint32_t next = cut + 1; next <= last; ++next)
            if (fabs(grain->before[next] - aim) <= fabs(grain->before[cut] - aim)) cut = next;
        units[x] = cut;
    }
    return NULL;
}

ONS_GRAIN_STRATEGIES(compute_balanced, "compute-balanced", search,
                     "cuts where the time so far is nearest to its share");
