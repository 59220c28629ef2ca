#include "planner/partition/bisection.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "planner/partition/devices.h"

enum { AHEAD = 6 };                     /* cuts looked at by a closer look */
static const double CLOSER_STEP = 2e-4; /* how much faster it must find a split */

static uint32_t node_count(const ons_stage_costs *costs) { return ons_stage_costs_problem(costs)->work->node_count; }
static uint32_t stage_count(const ons_stage_costs *costs) { return ons_stage_costs_problem(costs)->pipeline.stages; }

/* The largest end in [first, most] of a stage whose nodes alone take no longer than `limit`. */
static uint32_t find_end_in_time(const ons_workload *work, uint32_t first, uint32_t most, double limit) {
    uint32_t low = first, high = most;
    while (low < high) {
        uint32_t middle = high - (high - low) / 2;
        if (ons_work_seconds(work, first, middle) <= limit)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* Cuts between which a stage is known to end. */
typedef struct cut_bounds {
    uint32_t least, most;
} cut_bounds;

typedef struct stage_query {
    ons_stage_costs *costs;
    uint32_t first, stage;
    double limit;
    uint32_t ahead; /* quiet cuts behind the furthest one found that are tried as well */
} stage_query;

static ons_status *is_within(const stage_query *q, uint32_t end, bool *within) {
    if (isinf(q->limit)) return ons_stage_costs_fits(q->costs, q->first, end, q->stage, within);
    double seconds;
    ONS_TRY(ons_stage_costs_within(q->costs, q->first, end, q->stage, q->limit, &seconds));
    *within = isfinite(seconds);
    return NULL;
}

/* The largest end in [low, high] of a stage that fits as it is; low where there is none. What it takes grows with the
 * stage, but for the gradients that are received over the cut at its end: those are looked at one by one. */
static uint32_t find_end_as_is(const stage_query *q, uint32_t low, uint32_t high) {
    const ons_planning_problem *p = ons_stage_costs_problem(q->costs);
    uint32_t from = low, count = p->work->node_count;
    int64_t capacity = ons_stage_capacity(p, q->stage);
    if (capacity == 0) return high;
    while (from < high) {
        uint32_t middle = high - (high - from) / 2;
        int64_t received = middle < count ? ons_work_cut_gradient_bytes(p->work, middle) : 0;
        if (ons_stage_costs_bytes(q->costs, q->first, middle, q->stage) - received <= capacity)
            from = middle;
        else
            high = middle - 1;
    }
    while (high > low && ons_stage_costs_bytes(q->costs, q->first, high, q->stage) > capacity) --high;
    return high;
}

bool ons_cut_is_local_minimum(const ons_workload *work, uint32_t cut) {
    int64_t bytes = ons_work_cut_bytes(work, cut);
    return bytes <= ons_work_cut_bytes(work, cut - 1) && bytes <= ons_work_cut_bytes(work, cut + 1);
}

/* The largest end in [low, high[ that is not too far; high is, and low is not. */
static ons_status *bisect_end(const stage_query *q, uint32_t low, uint32_t high, uint32_t *end) {
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        bool within;
        ONS_TRY(is_within(q, middle, &within));
        *(within ? &low : &high) = middle;
    }
    *end = low;
    return NULL;
}

/* Moves `end` to the last of the next quiet cuts before `most` that is not too far either. */
static ons_status *look_ahead(const stage_query *q, uint32_t most, uint32_t *end) {
    const ons_workload *work = ons_stage_costs_problem(q->costs)->work;
    uint32_t tries = 0;
    for (uint32_t cut = *end + 1; cut < most && tries < q->ahead; ++cut) {
        bool within;
        if (!ons_cut_is_local_minimum(work, cut)) continue;
        ++tries;
        ONS_TRY(is_within(q, cut, &within));
        if (!within) continue;
        *end = cut;
        tries = 0;
    }
    return NULL;
}

/* How far a stage goes. `bounds`: between which cuts that is known to be, from searches with a smaller and with a
 * larger limit. */
static ons_status *find_longest_stage(const stage_query *q, bool relaxed, cut_bounds bounds, uint32_t *end) {
    uint32_t low = bounds.least > q->first ? bounds.least : q->first;
    *end =
        find_end_in_time(ons_stage_work(ons_stage_costs_problem(q->costs), q->stage), q->first, bounds.most, q->limit);
    if (relaxed || *end <= low) return NULL;
    uint32_t as_is = find_end_as_is(q, low, *end);
    if (as_is == *end) return NULL;
    uint32_t furthest = *end;
    bool within;
    ONS_TRY(is_within(q, furthest, &within));
    if (within) return NULL;
    ONS_TRY(bisect_end(q, as_is, furthest, end));
    return look_ahead(q, furthest, end);
}

static bool cut_is_quick(const ons_stage_costs *costs, uint32_t cut, double limit) {
    return ons_stage_costs_transfer(costs, cut) <= limit;
}

/* The furthest cut in front of each stage that leaves a quick cut for every later one. */
static bool leave_room(const ons_stage_costs *costs, double limit, uint32_t *latest) {
    uint32_t stages = stage_count(costs), cut = node_count(costs);
    latest[stages] = cut;
    for (uint32_t i = stages; i-- > 1;) {
        do {
            if (--cut == 0) return false;
        } while (!cut_is_quick(costs, cut, limit));
        latest[i] = cut;
    }
    return true;
}

typedef struct bisection {
    ons_stage_costs *costs;
    bool relaxed;
    double low, high; /* nothing below low; high was found */
    uint32_t ahead;   /* see stage_query */
    uint32_t *best, *trial, *reached;
    cut_bounds *bounds;
} bisection;

/* Every stage as long as it can be, in `trial`; bounds of the ends are taken into account. */
static ons_status *fill_stages(const bisection *x, double limit, bool *found) {
    ons_stage_costs *costs = x->costs;
    const ons_workload *work = ons_stage_costs_problem(costs)->work;
    uint32_t *first = x->trial;
    uint32_t stages = stage_count(costs), count = node_count(costs);
    *found = false;
    if (!leave_room(costs, limit, first)) return NULL; /* first[i] holds the latest until it is known */
    first[0] = 0;
    for (uint32_t i = 0; i + 1 < stages; ++i) {
        if (ons_work_seconds(work, first[i], count) > limit * (stages - i) * (1 + 1e-12)) return NULL;
        stage_query q = {costs, first[i], i, limit, x->ahead};
        cut_bounds b = x->bounds[i + 1];
        if (b.most > first[i + 1]) b.most = first[i + 1];
        ONS_TRY(find_longest_stage(&q, x->relaxed, b, &x->reached[i + 1]));
        uint32_t end = x->reached[i + 1];
        while (end > first[i] && !cut_is_quick(costs, end, limit)) --end;
        if (end <= first[i]) return NULL;
        first[i + 1] = end;
    }
    if (ons_stage_costs_computing(costs, first[stages - 1], count, stages - 1) > limit) return NULL;
    *found = true;
    stage_query last = {costs, first[stages - 1], stages - 1, limit, 0};
    return x->relaxed ? NULL : is_within(&last, count, found);
}

/* A bottleneck that a split is known to do with, no more than the limit under which it was found. */
static ons_status *measure_bottleneck(ons_stage_costs *costs, bool relaxed, double limit, const uint32_t *first,
                                      double *bottleneck) {
    *bottleneck = 0;
    for (uint32_t i = 0; i < stage_count(costs); ++i) {
        ons_stage_evaluation v = {.seconds = ons_stage_costs_computing(costs, first[i], first[i + 1], i)};
        if (!relaxed && isinf(limit)) ONS_TRY(ons_stage_costs_evaluate(costs, first[i], first[i + 1], i, &v));
        if (!relaxed && isfinite(limit))
            ONS_TRY(ons_stage_costs_within(costs, first[i], first[i + 1], i, limit, &v.seconds));
        *bottleneck = fmax(*bottleneck, fmax(v.seconds, ons_stage_costs_transfer(costs, first[i])));
    }
    return NULL;
}

/* Longer limits reach farther, stage by stage: what one trial reached bounds the next ones, so that the nearer low and
 * high come, the fewer stages must be evaluated. */
static ons_status *probe_limit(bisection *b, double limit) {
    uint32_t stages = stage_count(b->costs);
    double bottleneck = INFINITY;
    bool found;
    memset(b->reached, 0, ((size_t)stages + 1) * sizeof *b->reached);
    ONS_TRY(fill_stages(b, limit, &found));
    if (found) ONS_TRY(measure_bottleneck(b->costs, b->relaxed, limit, b->trial, &bottleneck));
    bool better = bottleneck < b->high; /* it need not be where costs are not monotone after all */
    for (uint32_t i = 1; i < stages && b->reached[i] > 0; ++i) {
        if (better)
            b->bounds[i].most = b->reached[i];
        else if (b->reached[i] > b->bounds[i].least)
            b->bounds[i].least = b->reached[i];
        if (b->bounds[i].most < b->bounds[i].least) b->bounds[i].least = b->bounds[i].most;
    }
    if (!better) {
        b->low = fmax(b->low, limit);
        return NULL;
    }
    b->high = bottleneck;
    memcpy(b->best, b->trial, ((size_t)stages + 1) * sizeof *b->best);
    return NULL;
}

/* With memory in mind the optimum mostly lies little above the lower bound: steps away from it, each three times as
 * large, then no limit at all. */
static ons_status *bracket(bisection *b, double guess) {
    double step = 0.005, at_least = b->low;
    if (guess > at_least) {
        ONS_TRY(probe_limit(b, guess * (1 + step)));
        for (; isfinite(b->high) && b->low < guess * (1 - step) && guess * (1 - step) > at_least; step *= 3)
            ONS_TRY(probe_limit(b, guess * (1 - step)));
        if (isfinite(b->high)) return NULL;
        at_least = guess;
    }
    ONS_TRY(probe_limit(b, at_least * (1 + 1e-12)));
    for (; isinf(b->high) && step < 100 && at_least > 0; step *= 3) ONS_TRY(probe_limit(b, at_least * (1 + step)));
    return isinf(b->high) ? probe_limit(b, INFINITY) : NULL;
}

static ons_status *bisect(bisection *b, double tolerance, double guess, double at_most) {
    if (at_most > 0) {
        ONS_TRY(probe_limit(b, at_most));
        if (isinf(b->high)) return NULL;
        guess = guess > 0 && guess < b->high ? guess : b->high;
    }
    ONS_TRY(bracket(b, guess));
    if (isinf(b->high)) return NULL;
    while (b->high > b->low * (1 + tolerance)) {
        double limit = b->low + (b->high - b->low) / 2, before = b->high - b->low;
        ONS_TRY(probe_limit(b, limit));
        if (!(b->high - b->low < before)) break; /* nothing lies between two neighbouring numbers */
    }
    return NULL;
}

/* What memory strategies decide is not monotone: a longer stage may take less. So what the bisection calls too little
 * is tried once more, with a look at the cuts behind those that it calls too far. */
static ons_status *look_closer(bisection *b, double at_least) {
    b->ahead = AHEAD;
    for (double before = INFINITY; b->high < before && b->high * (1 - CLOSER_STEP) > at_least;) {
        before = b->high;
        for (uint32_t i = 0; i <= stage_count(b->costs); ++i) b->bounds[i] = (cut_bounds){0, node_count(b->costs)};
        ONS_TRY(probe_limit(b, b->high * (1 - CLOSER_STEP)));
    }
    return NULL;
}

static ons_status *new_bisection(ons_stage_costs *costs, bool relaxed, ons_arena *scratch, bisection *b) {
    size_t cuts = (size_t)stage_count(costs) + 1;
    *b = (bisection){.costs = costs, .relaxed = relaxed, .high = INFINITY};
    ONS_NEW(b->trial, scratch, cuts);
    ONS_NEW(b->reached, scratch, cuts);
    ONS_NEW(b->bounds, scratch, cuts);
    for (size_t i = 0; i < cuts; ++i) b->bounds[i].most = node_count(costs);
    return NULL;
}

static ons_status *search_bottleneck(ons_stage_costs *costs, const ons_bisection_options *options, ons_arena *scratch,
                                     uint32_t *first, double *bottleneck) {
    bisection b;
    ONS_TRY(new_bisection(costs, options->relaxed, scratch, &b));
    double even = ons_work_seconds(ons_stage_costs_problem(costs)->work, 0, node_count(costs)) / stage_count(costs);
    b.best = first;
    b.low = fmax(options->at_least, even * (1 - 1e-12));
    double at_least = b.low;
    ONS_TRY(bisect(&b, options->tolerance, options->guess, options->at_most));
    if (options->closer && isfinite(b.high)) ONS_TRY(look_closer(&b, at_least));
    *bottleneck = b.high;
    return NULL;
}

ons_status *ons_bisection_search(ons_stage_costs *costs, const ons_bisection_options *options, uint32_t *first,
                                 double *bottleneck) {
    ons_arena *scratch = ons_arena_new();
    if (scratch == NULL) return ons_status_out_of_memory();
    ons_status *status = search_bottleneck(costs, options, scratch, first, bottleneck);
    ons_arena_free(scratch);
    return status;
}

/* ---------------------------------------------------------------------------------------------------------- windows */

/* What no decision about tensors makes smaller. It grows with the stage. */
static bool may_hold(const ons_stage_costs *costs, uint32_t first, uint32_t end, uint32_t stage, double limit) {
    const ons_planning_problem *p = ons_stage_costs_problem(costs);
    int64_t capacity = ons_stage_capacity(p, stage);
    if (ons_stage_costs_computing(costs, first, end, stage) > limit) return false;
    if (capacity == 0) return true;
    ons_stage_memory m;
    ons_work_stage_memory(p->work, first, end, &p->schedule->loads[stage], &m);
    return m.weights + m.gradients + m.states + m.versions <= capacity;
}

/* Stages as long as they may be give the furthest cuts from the front, and the earliest ones from the back. Each end is
 * found by bisection, since what is asked (may_hold) grows with the stage. */
void ons_bisection_windows(const ons_stage_costs *costs, double limit, uint32_t *earliest, uint32_t *furthest) {
    uint32_t stages = stage_count(costs), count = node_count(costs);
    furthest[0] = 0;
    for (uint32_t i = 0; i < stages; ++i) {
        uint32_t low = furthest[i], high = count - (stages - 1 - i);
        while (low < high) {
            uint32_t middle = high - (high - low) / 2;
            if (may_hold(costs, furthest[i], middle, i, limit))
                low = middle;
            else
                high = middle - 1;
        }
        furthest[i + 1] = low;
    }
    earliest[stages] = count;
    for (uint32_t i = stages; i-- > 0;) {
        uint32_t low = i, high = earliest[i + 1];
        while (low < high) {
            uint32_t middle = low + (high - low) / 2;
            if (may_hold(costs, middle, earliest[i + 1], i, limit))
                high = middle;
            else
                low = middle + 1;
        }
        earliest[i] = low;
    }
}

/* ---------------------------------------------------------------------------------------------------------- refusal */

static ons_status *fill_without_limit(ons_stage_costs *costs, ons_arena *scratch, bool *found) {
    bisection b;
    ONS_TRY(new_bisection(costs, false, scratch, &b));
    return fill_stages(&b, INFINITY, found);
}

ons_status *ons_bisection_attempt(ons_stage_costs *costs, void *context, bool *found) {
    ons_arena *scratch = ons_arena_new();
    if (scratch == NULL) return ons_status_out_of_memory();
    ons_status *status = fill_without_limit(costs, scratch, found);
    ons_arena_free(scratch);
    return status;
}

/* Whether stages can hold what they need at least, some of them empty; where not, nothing fits. */
static ons_status *may_fit(ons_stage_costs *costs, int64_t capacity, bool *fits) {
    const ons_planning_problem *p = ons_stage_costs_problem(costs);
    uint32_t stages = stage_count(costs), count = node_count(costs), first = 0;
    *fits = false;
    for (uint32_t i = 0; i < stages; ++i) {
        uint32_t low = first, high = count;
        while (low < high) {
            uint32_t middle = high - (high - low) / 2;
            int64_t bytes;
            ONS_TRY(ons_stage_costs_bytes_lower_bound(costs, first, middle, i, &bytes));
            if (ons_device_demand(p, p->schedule->device_of[i], bytes) <= capacity)
                low = middle;
            else
                high = middle - 1;
        }
        first = low; /* none: what begins here may be for a later stage, which holds fewer micro-batches */
    }
    *fits = first == count;
    return NULL;
}

ons_status *ons_bisection_may_fit(ons_stage_costs *costs, bool *fits) {
    int64_t capacity = ons_stage_costs_problem(costs)->capacity_bytes;
    *fits = true;
    return capacity == 0 ? NULL : may_fit(costs, capacity, fits);
}

/* A capacity below which nothing fits, from the present one upwards, to within 1/64. */
static ons_status *find_floor(ons_stage_costs *costs, int64_t *floor) {
    int64_t low = ons_stage_costs_problem(costs)->capacity_bytes, high = low;
    for (bool fits = false; !fits;) {
        ONS_TRY(may_fit(costs, high, &fits));
        if (fits) break;
        ONS_CHECK(high < INT64_MAX / 4, ONS_INVALID_DATA, "no capacity is enough for these stages");
        low = high;
        high = 2 * high + 64;
    }
    while (high - low > high / 64) {
        int64_t middle = low + (high - low) / 2;
        bool fits;
        ONS_TRY(may_fit(costs, middle, &fits));
        *(fits ? &high : &low) = middle;
    }
    *floor = low;
    return NULL;
}

/* Goes from the floor, below which nothing fits whatever is decided, by doubling steps to a capacity that does, then
 * halves. Each try is a whole search, so that the answer is to within 1/64 and no closer. */
static ons_status *least_capacity(ons_stage_costs *costs, ons_partition_attempt *attempt, void *context,
                                  int64_t *least) {
    int64_t low, high;
    ONS_TRY(find_floor(costs, &low));
    int64_t step = low / 64 + 64;
    high = low;
    for (bool found = false; !found; step *= 2) {
        ONS_CHECK(high < INT64_MAX / 4, ONS_INVALID_DATA, "no capacity is enough for these stages");
        low = high;
        high += step;
        ons_stage_costs_set_capacity(costs, high);
        ONS_TRY(attempt(costs, context, &found));
    }
    while (high - low > high / 64) {
        bool found;
        int64_t middle = low + (high - low) / 2;
        ons_stage_costs_set_capacity(costs, middle);
        ONS_TRY(attempt(costs, context, &found));
        if (found)
            high = middle;
        else
            low = middle;
    }
    *least = high;
    return NULL;
}

ons_status *ons_bisection_least_capacity(ons_stage_costs *costs, ons_partition_attempt *attempt, void *context,
                                         int64_t *least) {
    int64_t before = ons_stage_costs_problem(costs)->capacity_bytes;
    ons_status *status = least_capacity(costs, attempt, context, least);
    ons_stage_costs_set_capacity(costs, before);
    return status;
}
