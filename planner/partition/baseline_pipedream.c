/* PipeDream's planner (Harlap et al., SOSP 2019, section 3.1) for a straight pipeline, without replicas: the split with
 * the least of the slowest stage and the slowest transfer, transfers running beside computation. Memory is not looked
 * at, as in its published planner unless it is told to.
 *
 * It tabulates A(j, m) = min over k of max(A(k, m - 1), transfer in front of unit k, time of [k, j)). The same minimum
 * is found here by bisection on it: whether the first j units can be m stages under a limit needs only a count of the
 * reachable k within a window. Transfers are priced as the judge prices them, so that strategies compare.
 */
#include <math.h>

#include "planner/partition/grain.h"

typedef struct pipedream_search {
    const ons_grain *grain;
    double *transfer;  /* [i]: in front of unit i */
    uint32_t *reached; /* [stage * (count + 1) + j]: cuts before j that `stage` stages can end at */
} pipedream_search;

static bool is_reached(const pipedream_search *s, uint32_t stages, uint32_t j) {
    const uint32_t *row = s->reached + (size_t)stages * (s->grain->count + 2);
    return row[j + 1] > row[j];
}

/* Whether `stages` stages can hold the first `end` units under `limit`. */
static bool reach(const pipedream_search *s, uint32_t end, uint32_t stages, double limit) {
    const double *before = s->grain->before;
    for (uint32_t j = 0; j <= end; ++j) s->reached[j + 1] = 1; /* none: only the beginning */
    s->reached[0] = 0;
    for (uint32_t m = 1; m <= stages; ++m) {
        const uint32_t *shorter = s->reached + (size_t)(m - 1) * (s->grain->count + 2);
        uint32_t *row = s->reached + (size_t)m * (s->grain->count + 2), low = 0;
        row[0] = row[1] = 0;
        for (uint32_t j = 1; j <= end; ++j) {
            while (low < j && before[j] - before[low] > limit) ++low;
            bool can = shorter[j] > shorter[low] && (j == end || s->transfer[j] <= limit);
            row[j + 1] = row[j] + can;
        }
    }
    return is_reached(s, stages, end);
}

/* The smallest limit for that, to within rounding. */
static double least_limit(const pipedream_search *s, uint32_t end, uint32_t stages) {
    double low = 0, high = s->grain->before[end];
    for (uint32_t j = 1; j < end; ++j) high = fmax(high, s->transfer[j]);
    for (int i = 0; i < 64 && high - low > 1e-14 * high; ++i) {
        double limit = low + (high - low) / 2;
        if (reach(s, end, stages, limit))
            high = limit;
        else
            low = limit;
    }
    return high;
}

/* The last stage as long as the optimum allows; those before it are again a best split of what is left. */
static void choose(const pipedream_search *s, uint32_t stages, uint32_t *units) {
    units[stages] = s->grain->count;
    for (uint32_t m = stages; m-- > 0;) {
        uint32_t end = units[m + 1], k = 0;
        double limit = least_limit(s, end, m + 1);
        (void)reach(s, end, m + 1, limit);
        while (k + 1 < end && (s->grain->before[end] - s->grain->before[k] > limit || !is_reached(s, m, k))) ++k;
        units[m] = k;
    }
}

static ons_status *search(ons_judge *judge, const ons_grain *grain, ons_arena *arena, uint32_t *units) {
    uint32_t stages = ons_judge_problem(judge)->pipeline.stages;
    pipedream_search s = {.grain = grain};
    ONS_NEW(s.transfer, arena, (size_t)grain->count + 1);
    ONS_NEW(s.reached, arena, ((size_t)stages + 1) * ((size_t)grain->count + 2));
    for (uint32_t i = 0; i <= grain->count; ++i) s.transfer[i] = ons_judge_transfer(judge, grain->cuts[i]);
    choose(&s, stages, units);
    return NULL;
}

ONS_GRAIN_STRATEGIES(pipedream, "pipedream", search, "PipeDream's planner: the slowest stage or transfer is fastest");
