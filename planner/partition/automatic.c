/* The best that is known, in little time:
 *
 * 1. The theorem holds where memory optimisation costs the same wherever it is needed; where it does not, the optimum
 *    lies outside the interval. So the cuts are moved to where the stages' times, with what swap and recompute add,
 *    meet: for all stages at once, that is the search of bisection.c.
 * 2. DawnPiper's split, if it is faster; what cannot be is left out of its search.
 * 3. The slowest stage gives to its neighbours what they can take.
 * 4. The dynamic program of exact.c, which is certain, for small graphs: with few nodes a cut more or less is a
 *    great difference, and stages are quickly optimised.
 * 5. Where that did not come to its end, step 1 for smaller devices: what memory strategies decide is not monotone, and
 *    a split that was made for less memory may be better. It is evaluated at the real capacity.
 *
 * It ends as soon as nothing can be better by more than TOLERANCE.
 */
#include <math.h>
#include <string.h>

#include "planner/partition/baselines.h"
#include "planner/partition/bisection.h"
#include "planner/partition/dawnpiper.h"
#include "planner/partition/exact.h"

static const double TOLERANCE = 8e-4;
static const uint64_t NODE_BUDGET =
    20000;                       /* of stages optimised for steps 4 and 5 each, and, a quarter of it, for step 3 */
enum { MOVES = 6 };              /* of a cut, at most, in step 3 */
enum { SMALL_GRAPH = 256 };      /* nodes */
enum { SMALLER_CAPACITIES = 4 }; /* a sixteenth less each */

typedef struct best {
    ons_stage_costs *costs;
    double at_least, seconds; /* of `first`; infinite: there is none */
    double incumbent;         /* what is no faster is not wanted */
    uint32_t *first, *trial;
    uint32_t stages;
} best;

static bool is_good(const best *b) { return b->seconds <= b->at_least * (1 + TOLERANCE); }
static double to_beat(const best *b) { return fmin(b->seconds, b->incumbent); }

/* Evaluates the trial at the capacity that counts and keeps it if it is better. */
static ons_status *keep_if_better(best *b) {
    ons_partition p = {.stages = b->stages, .first = b->trial};
    for (uint32_t i = 0; isfinite(to_beat(b)) && i < b->stages; ++i) {
        double seconds;
        ONS_TRY(ons_stage_costs_within(b->costs, b->trial[i], b->trial[i + 1], i, to_beat(b), &seconds));
        if (isinf(seconds)) return NULL;
    }
    ONS_TRY(ons_partition_evaluate(b->costs, &p));
    if (!p.feasible || p.bottleneck_seconds >= to_beat(b)) return NULL;
    b->seconds = p.bottleneck_seconds;
    memcpy(b->first, b->trial, ((size_t)b->stages + 1) * sizeof *b->first);
    return NULL;
}

/* What the stages' times would be if those of the best split could be evened out; 0: nothing is known. */
static ons_status *mean_seconds(const best *b, double *mean) {
    *mean = 0;
    for (uint32_t i = 0; isfinite(b->seconds) && i < b->stages; ++i) {
        ons_stage_evaluation v;
        ONS_TRY(ons_stage_costs_evaluate(b->costs, b->first[i], b->first[i + 1], i, &v));
        *mean += v.seconds / b->stages;
    }
    return NULL;
}

static ons_status *balance_times(best *b) {
    double seconds, guess;
    ONS_TRY(mean_seconds(b, &guess));
    ons_bisection_options options = {.tolerance = TOLERANCE, .at_least = b->at_least, .guess = guess, .closer = true};
    if (isfinite(b->incumbent)) options.at_most = b->incumbent;
    ONS_TRY(ons_bisection_search(b->costs, &options, b->trial, &seconds));
    return isfinite(seconds) ? keep_if_better(b) : NULL;
}

/* Takes step 5: under a smaller capacity strategies decide otherwise, and the split that follows may be faster at the
 * real one. */
static ons_status *try_smaller_capacities(best *b) {
    int64_t capacity = ons_stage_costs_problem(b->costs)->capacity_bytes;
    uint64_t most = ons_stage_costs_optimised_nodes(b->costs) + NODE_BUDGET;
    for (int i = 1; i <= SMALLER_CAPACITIES && ons_stage_costs_optimised_nodes(b->costs) < most; ++i) {
        double seconds;
        ons_stage_costs_set_capacity(b->costs, capacity - capacity / 16 * i);
        ons_bisection_options options = {.tolerance = TOLERANCE, .at_least = b->at_least};
        ons_status *status = ons_bisection_search(b->costs, &options, b->trial, &seconds);
        ons_stage_costs_set_capacity(b->costs, capacity);
        ONS_TRY(status);
        if (isinf(seconds)) break; /* smaller ones do not fit either */
        ONS_TRY(keep_if_better(b));
    }
    return NULL;
}

static ons_status *try_dawnpiper(best *b, uint32_t *candidate_cuts) {
    bool found;
    ONS_TRY(ons_dawnpiper_search(b->costs, to_beat(b), b->trial, &found, candidate_cuts));
    return found ? keep_if_better(b) : NULL;
}

static ons_status *stage_seconds(const best *b, uint32_t first, uint32_t end, uint32_t stage, double *seconds) {
    ons_stage_evaluation v;
    ONS_TRY(ons_stage_costs_evaluate(b->costs, first, end, stage, &v));
    *seconds = v.seconds;
    return NULL;
}

static uint32_t nearer(uint32_t cut, int side) { return side > 0 ? cut - 1 : cut + 1; }

/* Moves the cut in front of stage `cut` away from the slowest stage, on whose `side` it is (1: behind it, -1: before
 * it), to one of the next quiet ones, if the neighbour then stays faster than the best. */
static ons_status *move_cut(best *b, uint32_t cut, int side) {
    const ons_workload *work = ons_stage_costs_problem(b->costs)->work;
    uint32_t from = b->first[cut - 1], to = b->first[cut + 1], place = nearer(b->first[cut], side), tries = 0;
    for (; place > from && place < to && tries < MOVES; place = nearer(place, side)) {
        double left, right;
        if ((side > 0 ? ons_work_seconds(work, place, to) : ons_work_seconds(work, from, place)) >= b->seconds) break;
        if (!ons_cut_is_local_minimum(work, place) || ons_stage_costs_transfer(b->costs, place) >= b->seconds) continue;
        ++tries;
        ONS_TRY(stage_seconds(b, from, place, cut - 1, &left));
        if (left >= b->seconds) continue;
        ONS_TRY(stage_seconds(b, place, to, cut, &right));
        if (right >= b->seconds) continue;
        memcpy(b->trial, b->first, ((size_t)b->stages + 1) * sizeof *b->trial);
        b->trial[cut] = place;
        return keep_if_better(b);
    }
    return NULL;
}

static ons_status *find_slowest(const best *b, uint32_t *slowest) {
    double most = 0;
    for (uint32_t i = 0; i < b->stages; ++i) {
        double seconds;
        ONS_TRY(stage_seconds(b, b->first[i], b->first[i + 1], i, &seconds));
        if (seconds > most) *slowest = i;
        most = fmax(most, seconds);
    }
    return NULL;
}

/* Where costs are not quite monotone, the bisection leaves the slowest stage with a neighbour that could still take
 * something from it. */
static ons_status *even_out(best *b) {
    uint64_t most = ons_stage_costs_optimised_nodes(b->costs) + NODE_BUDGET / 4;
    for (double before = INFINITY; b->seconds < before && ons_stage_costs_optimised_nodes(b->costs) < most;) {
        uint32_t slowest = 0;
        before = b->seconds;
        ONS_TRY(find_slowest(b, &slowest));
        if (slowest + 1 < b->stages) ONS_TRY(move_cut(b, slowest + 1, 1));
        if (b->seconds == before && slowest > 0) ONS_TRY(move_cut(b, slowest, -1));
    }
    return NULL;
}

/* No baseline must fit where we do not. */
static ons_status *try_baselines(best *b, ons_arena *arena) {
    ons_baseline_splits splits;
    ONS_TRY(ons_baselines_split(b->costs, arena, &splits));
    for (uint32_t k = 0; k < splits.count; ++k) {
        const uint32_t *first = splits.first[k];
        bool fits = true;
        for (uint32_t i = 0; i < b->stages && fits; ++i)
            ONS_TRY(ons_stage_costs_fits(b->costs, first[i], first[i + 1], i, &fits));
        if (!fits) continue;
        memcpy(b->trial, first, ((size_t)b->stages + 1) * sizeof *first);
        ONS_TRY(keep_if_better(b));
    }
    return NULL;
}

/* Takes the steps that the top of this file lists, each only where what is known is not good enough yet. */
static ons_status *search_split(best *b, ons_arena *arena, uint32_t *candidate_cuts) {
    bool proven, may_fit = true;
    ONS_TRY(ons_bisection_search(b->costs, &(ons_bisection_options){.relaxed = true, .tolerance = 1e-13}, b->trial,
                                 &b->at_least));
    if (ons_stage_costs_problem(b->costs)->devices != NULL) b->at_least = 0; /* then it is no proof: bisection.h */
    ONS_TRY(ons_bisection_may_fit(b->costs, &may_fit));
    if (!may_fit || b->at_least >= b->incumbent) return NULL;
    ONS_TRY(keep_if_better(b));
    if (b->seconds <= b->at_least * (1 + 1e-12)) return NULL;
    if (isinf(to_beat(b))) ONS_TRY(ons_bisection_attempt(b->costs, NULL, &may_fit));
    if (may_fit) ONS_TRY(balance_times(b));
    ONS_TRY(try_dawnpiper(b, candidate_cuts));
    if (isinf(to_beat(b))) ONS_TRY(try_baselines(b, arena));
    if (isfinite(b->seconds) && !is_good(b)) ONS_TRY(even_out(b));
    if (is_good(b) || isfinite(b->incumbent) || ons_stage_costs_problem(b->costs)->work->node_count > SMALL_GRAPH)
        return NULL;
    uint64_t budget = isinf(b->seconds) ? 2 * NODE_BUDGET : NODE_BUDGET; /* before it is refused, with more care */
    ONS_TRY(ons_exact_improve(b->costs, b->at_least, budget, b->first, &b->seconds, &proven));
    return proven ? NULL : try_smaller_capacities(b);
}

static ons_status *split(ons_stage_costs *costs, ons_arena *arena, ons_partition *partition) {
    uint32_t stages = ons_stage_costs_problem(costs)->pipeline.stages;
    best b = {.costs = costs, .seconds = INFINITY, .incumbent = ons_stage_costs_incumbent(costs), .stages = stages};
    *partition = (ons_partition){.stages = stages, .bottleneck_seconds = INFINITY};
    ONS_NEW(b.first, arena, (size_t)stages + 1);
    ONS_NEW(b.trial, arena, (size_t)stages + 1);
    partition->first = b.first;
    ONS_TRY(search_split(&b, arena, &partition->candidate_cuts));
    if (isfinite(b.seconds)) return ons_partition_evaluate(costs, partition);
    partition->least_bytes = INT64_MAX;
    partition->stages_evaluated = ons_stage_costs_count(costs);
    if (isfinite(b.incumbent)) return NULL;
    ONS_TRY(ons_bisection_least_capacity(costs, ons_bisection_attempt, NULL, &partition->least_bytes));
    partition->stages_evaluated = ons_stage_costs_count(costs);
    return NULL;
}

const ons_partition_strategy ons_partition_automatic = {"auto", split,
                                                        "the best of dawnpiper and a search for where times meet"};
