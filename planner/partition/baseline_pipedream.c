/* PipeDream's planner (Harlap et al., SOSP 2019, section 3.1) for a straight pipeline, without replicas: the split with
 * the least of the slowest stage and the slowest transfer, transfers running beside computation. Memory is not looked
 * at, as in its published planner unless it is told to.
 *
 * It tabulates A(j, m) = min over k of max(A(k, m - 1), transfer in front of unit k, time of [k, j)). The same minimum
 * is found here by bisection on it: whether the first j units can be m stages under a limit needs only a count of the
 * reachable k within a window. Transfers cost what ons_stage_costs_transfer says, so that strategies compare.
 */
#include <math.h>

#include "planner/partition/granularity.h"

typedef struct pipedream_search {
    const ons_granularity *granularity;
    double *transfer;              /* [i]: in front of unit i */
    uint32_t *reached;             /* [stage * (count + 2) + j]: cuts before j that `stage` stages can end at */
    uint32_t *earliest, *furthest; /* [stage]: where they can end at all, by time alone */
} pipedream_search;

static uint32_t *row_of(const pipedream_search *s, uint32_t stages) {
    return s->reached + (size_t)stages * (s->granularity->count + 2);
}

/* Cuts before j that `stages` stages can end at. */
static uint32_t count_reached(const pipedream_search *s, uint32_t stages, uint32_t j) {
    if (j <= s->earliest[stages]) return 0;
    return row_of(s, stages)[j <= s->furthest[stages] ? j : s->furthest[stages] + 1];
}

static bool is_reached(const pipedream_search *s, uint32_t stages, uint32_t j) {
    return count_reached(s, stages, j + 1) > count_reached(s, stages, j);
}

/* Between them lie all cuts that matter: far fewer than there are, near the optimum. */
static void find_windows(const pipedream_search *s, uint32_t end, uint32_t stages, double limit) {
    const double *before = s->granularity->before;
    s->furthest[0] = s->earliest[0] = 0;
    for (uint32_t m = 1; m <= stages; ++m) {
        uint32_t low = s->furthest[m - 1], high = end;
        while (low < high) {
            uint32_t middle = high - (high - low) / 2;
            if (before[middle] - before[s->furthest[m - 1]] > limit)
                high = middle - 1;
            else
                low = middle;
        }
        s->furthest[m] = low;
    }
    s->earliest[stages] = end;
    for (uint32_t m = stages - 1; m > 0; --m) {
        uint32_t low = 0, high = s->earliest[m + 1];
        while (low < high) {
            uint32_t middle = low + (high - low) / 2;
            if (before[s->earliest[m + 1]] - before[middle] > limit)
                low = middle + 1;
            else
                high = middle;
        }
        s->earliest[m] = low;
    }
}

/* Whether `stages` stages can hold the first `end` units under `limit`. */
static bool reach(const pipedream_search *s, uint32_t end, uint32_t stages, double limit) {
    const double *before = s->granularity->before;
    find_windows(s, end, stages, limit);
    if (s->furthest[stages] < end || before[s->earliest[1]] > limit) return false;
    row_of(s, 0)[0] = 0;
    row_of(s, 0)[1] = 1; /* none: only the beginning */
    for (uint32_t m = 1; m <= stages; ++m) {
        uint32_t *row = row_of(s, m), low = s->earliest[m - 1], from = s->earliest[m], to = s->furthest[m];
        if (from > to) return false;
        row[from] = 0;
        for (uint32_t j = from; j <= to; ++j) {
            while (low < j && before[j] - before[low] > limit) ++low;
            bool can = j > 0 && count_reached(s, m - 1, j) > count_reached(s, m - 1, low) &&
                       (j == end || s->transfer[j] <= limit);
            row[j + 1] = row[j] + can;
        }
    }
    return is_reached(s, stages, end);
}

/* The smallest limit for that, to within rounding. */
static double least_limit(const pipedream_search *s, uint32_t end, uint32_t stages) {
    double low = 0, high = s->granularity->before[end];
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
    units[stages] = s->granularity->count;
    for (uint32_t m = stages; m-- > 0;) {
        uint32_t end = units[m + 1], k = 0;
        double limit = least_limit(s, end, m + 1);
        (void)reach(s, end, m + 1, limit);
        while (k + 1 < end && (s->granularity->before[end] - s->granularity->before[k] > limit || !is_reached(s, m, k)))
            ++k;
        units[m] = k;
    }
}

static ons_status *search_pipedream(ons_stage_costs *costs, const ons_granularity *granularity, ons_arena *arena,
                                    uint32_t *units) {
    uint32_t stages = ons_stage_costs_problem(costs)->pipeline.stages;
    pipedream_search s = {.granularity = granularity};
    ONS_NEW(s.transfer, arena, (size_t)granularity->count + 1);
    ONS_NEW(s.reached, arena, ((size_t)stages + 1) * ((size_t)granularity->count + 2));
    ONS_NEW(s.earliest, arena, (size_t)stages + 1);
    ONS_NEW(s.furthest, arena, (size_t)stages + 1);
    for (uint32_t i = 0; i <= granularity->count; ++i)
        s.transfer[i] = ons_stage_costs_transfer(costs, granularity->cuts[i]);
    choose(&s, stages, units);
    return NULL;
}

ONS_GRANULARITY_STRATEGIES(pipedream, "pipedream", search_pipedream,
                           "PipeDream's planner: the slowest stage or transfer is fastest");
