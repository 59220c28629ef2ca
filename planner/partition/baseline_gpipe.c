/* GPipe (Huang et al., 2019) divides a sequence of layers so that the variance of their stages' costs is least;
 * torchgpipe, which DawnPiper compares with, measures the layers' times for it (balance_by_time). Neither looks at
 * transfers or memory.
 *
 * With a fixed number of stages the variance is least where the sum of squares is. For squares, the best last cut of a
 * longer sequence never lies before that of a shorter one, so the dynamic program halves the places and searches each
 * half between the cuts of its ends: O(stages · units · log units).
 */
#include <math.h>

#include "planner/partition/granularity.h"

typedef struct variance_search {
    const ons_granularity *granularity;
    const double *shorter; /* [k]: least sum for the first k units in one stage fewer */
    double *sums;          /* [j]: for the first j */
    uint32_t *last_cut;    /* [j]: where its last stage begins */
} variance_search;

/* The ends [from, to), whose last cuts lie within [low, high]. */
static void find_cuts(const variance_search *s, uint32_t from, uint32_t to, uint32_t low, uint32_t high) {
    while (from < to) {
        uint32_t end = from + (to - from) / 2, best = low;
        double least = INFINITY;
        for (uint32_t k = low; k <= high && k < end; ++k) {
            double time = s->granularity->before[end] - s->granularity->before[k], sum = s->shorter[k] + time * time;
            if (sum < least) {
                least = sum;
                best = k;
            }
        }
        s->sums[end] = least;
        s->last_cut[end] = best;
        find_cuts(s, from, end, low, best);
        from = end + 1;
        low = best;
    }
}

ons_status *ons_granularity_least_variance(ons_stage_costs *costs, const ons_granularity *granularity, ons_arena *arena,
                                           uint32_t *units) {
    uint32_t stages = ons_stage_costs_problem(costs)->pipeline.stages, count = granularity->count, *cuts;
    double *sums, *shorter;
    ONS_NEW(sums, arena, (size_t)count + 1);
    ONS_NEW(shorter, arena, (size_t)count + 1);
    ONS_NEW(cuts, arena, ((size_t)count + 1) * stages);
    for (uint32_t j = 0; j <= count; ++j) sums[j] = j == 0 ? INFINITY : granularity->before[j] * granularity->before[j];
    for (uint32_t stage = 1; stage < stages; ++stage) {
        double *swap = shorter;
        shorter = sums;
        sums = swap;
        for (uint32_t j = 0; j <= stage; ++j) sums[j] = INFINITY; /* too few units */
        variance_search s = {granularity, shorter, sums, cuts + (size_t)stage * (count + 1)};
        find_cuts(&s, stage + 1, count + 1, stage, count);
    }
    units[stages] = count;
    for (uint32_t stage = stages; stage-- > 0;)
        units[stage] = stage == 0 ? 0 : cuts[(size_t)stage * (count + 1) + units[stage + 1]];
    return NULL;
}

ONS_GRANULARITY_STRATEGIES(gpipe, "gpipe", ons_granularity_least_variance,
                           "GPipe: least variance of the stages' times");
