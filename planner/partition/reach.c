#include "planner/partition/reach.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"

enum { AHEAD = 6 };                     /* cuts looked at by a closer look */
static const double CLOSER_STEP = 2e-4; /* how much faster it must find a split */

static uint32_t node_count(const ons_judge *judge) { return ons_judge_problem(judge)->work->node_count; }
static uint32_t stage_count(const ons_judge *judge) { return ons_judge_problem(judge)->pipeline.stages; }

/* The largest end in [first, most] of a stage whose nodes alone take no longer than `limit`. */
static uint32_t reach_in_time(const ons_workload *work, uint32_t first, uint32_t most, double limit) {
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
    ons_judge *judge;
    uint32_t first, stage;
    double limit;
    uint32_t ahead; /* quiet cuts behind the furthest one found that are tried as well */
} stage_query;

static ons_status *is_within(const stage_query *q, uint32_t end, bool *within) {
    if (isinf(q->limit)) return ons_judge_fits(q->judge, q->first, end, q->stage, within);
    double seconds;
    ONS_TRY(ons_judge_within(q->judge, q->first, end, q->stage, q->limit, &seconds));
    *within = isfinite(seconds);
    return NULL;
}

/* The largest end in [low, high] of a stage that fits as it is; low where there is none. What it takes grows with the
 * stage, but for the gradients that are received over the cut at its end: those are looked at one by one. */
static uint32_t reach_as_is(const stage_query *q, uint32_t low, uint32_t high) {
    const ons_planning_problem *p = ons_judge_problem(q->judge);
    uint32_t from = low, count = p->work->node_count;
    if (p->capacity_bytes == 0) return high;
    while (from < high) {
        uint32_t middle = high - (high - from) / 2;
        int64_t received = middle < count ? ons_work_cut_gradient_bytes(p->work, middle) : 0;
        if (ons_judge_bytes(q->judge, q->first, middle, q->stage) - received <= p->capacity_bytes)
            from = middle;
        else
            high = middle - 1;
    }
    while (high > low && ons_judge_bytes(q->judge, q->first, high, q->stage) > p->capacity_bytes) --high;
    return high;
}

bool ons_reach_is_quiet(const ons_workload *work, uint32_t cut) {
    int64_t bytes = ons_work_cut_bytes(work, cut);
    return bytes <= ons_work_cut_bytes(work, cut - 1) && bytes <= ons_work_cut_bytes(work, cut + 1);
}

/* The largest end in [low, high[ that is not too far; high is, and low is not. */
static ons_status *reach_between(const stage_query *q, uint32_t low, uint32_t high, uint32_t *end) {
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
    const ons_workload *work = ons_judge_problem(q->judge)->work;
    uint32_t tries = 0;
    for (uint32_t cut = *end + 1; cut < most && tries < q->ahead; ++cut) {
        bool within;
        if (!ons_reach_is_quiet(work, cut)) continue;
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
static ons_status *reach_stage(const stage_query *q, bool relaxed, cut_bounds bounds, uint32_t *end) {
    uint32_t low = bounds.least > q->first ? bounds.least : q->first;
    *end = reach_in_time(ons_judge_problem(q->judge)->work, q->first, bounds.most, q->limit);
    if (relaxed || *end <= low) return NULL;
    uint32_t as_is = reach_as_is(q, low, *end);
    if (as_is == *end) return NULL;
    uint32_t furthest = *end;
    bool within;
    ONS_TRY(is_within(q, furthest, &within));
    if (within) return NULL;
    ONS_TRY(reach_between(q, as_is, furthest, end));
    return look_ahead(q, furthest, end);
}

static bool cut_is_quick(const ons_judge *judge, uint32_t cut, double limit) {
    return ons_judge_transfer(judge, cut) <= limit;
}

/* The furthest cut in front of each stage that leaves a quick cut for every later one. */
static bool leave_room(const ons_judge *judge, double limit, uint32_t *latest) {
    uint32_t stages = stage_count(judge), cut = node_count(judge);
    latest[stages] = cut;
    for (uint32_t i = stages; i-- > 1;) {
        do {
            if (--cut == 0) return false;
        } while (!cut_is_quick(judge, cut, limit));
        latest[i] = cut;
    }
    return true;
}

typedef struct bisection {
    ons_judge *judge;
    bool relaxed;
    double low, high; /* nothing below low; high was found */
    uint32_t ahead;   /* see stage_query */
    uint32_t *best, *trial, *reached;
    cut_bounds *bounds;
} bisection;

/* Every stage as long as it can be, in `trial`; bounds of the ends are taken into account. */
static ons_status *fill(const bisection *x, double limit, bool *found) {
    ons_judge *judge = x->judge;
    const ons_workload *work = ons_judge_problem(judge)->work;
    uint32_t *first = x->trial;
    uint32_t stages = stage_count(judge), count = node_count(judge);
    *found = false;
    if (!leave_room(judge, limit, first)) return NULL; /* first[i] holds the latest until it is known */
    first[0] = 0;
    for (uint32_t i = 0; i + 1 < stages; ++i) {
        if (ons_work_seconds(work, first[i], count) > limit * (stages - i) * (1 + 1e-12)) return NULL;
        stage_query q = {judge, first[i], i, limit, x->ahead};
        cut_bounds b = x->bounds[i + 1];
        if (b.most > first[i + 1]) b.most = first[i + 1];
        ONS_TRY(reach_stage(&q, x->relaxed, b, &x->reached[i + 1]));
        uint32_t end = x->reached[i + 1];
        while (end > first[i] && !cut_is_quick(judge, end, limit)) --end;
        if (end <= first[i]) return NULL;
        first[i + 1] = end;
    }
    if (ons_work_seconds(work, first[stages - 1], count) > limit) return NULL;
    *found = true;
    stage_query last = {judge, first[stages - 1], stages - 1, limit, 0};
    return x->relaxed ? NULL : is_within(&last, count, found);
}

/* A bottleneck that a split is known to do with, no more than the limit under which it was found. */
static ons_status *measure(ons_judge *judge, bool relaxed, double limit, const uint32_t *first, double *bottleneck) {
    const ons_workload *work = ons_judge_problem(judge)->work;
    *bottleneck = 0;
    for (uint32_t i = 0; i < stage_count(judge); ++i) {
        ons_verdict v = {.seconds = ons_work_seconds(work, first[i], first[i + 1])};
        if (!relaxed && isinf(limit)) ONS_TRY(ons_judge_stage(judge, first[i], first[i + 1], i, &v));
        if (!relaxed && isfinite(limit)) ONS_TRY(ons_judge_within(judge, first[i], first[i + 1], i, limit, &v.seconds));
        *bottleneck = fmax(*bottleneck, fmax(v.seconds, ons_judge_transfer(judge, first[i])));
    }
    return NULL;
}

/* Longer limits reach farther, stage by stage: what one trial reached bounds the next ones, so that the nearer low and
 * high come, the fewer stages must be judged. */
static ons_status *probe(bisection *b, double limit) {
    uint32_t stages = stage_count(b->judge);
    double bottleneck = INFINITY;
    bool found;
    memset(b->reached, 0, ((size_t)stages + 1) * sizeof *b->reached);
    ONS_TRY(fill(b, limit, &found));
    if (found) ONS_TRY(measure(b->judge, b->relaxed, limit, b->trial, &bottleneck));
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
        ONS_TRY(probe(b, guess * (1 + step)));
        for (; isfinite(b->high) && b->low < guess * (1 - step) && guess * (1 - step) > at_least; step *= 3)
            ONS_TRY(probe(b, guess * (1 - step)));
        if (isfinite(b->high)) return NULL;
        at_least = guess;
    }
    ONS_TRY(probe(b, at_least * (1 + 1e-12)));
    for (; isinf(b->high) && step < 100 && at_least > 0; step *= 3) ONS_TRY(probe(b, at_least * (1 + step)));
    return isinf(b->high) ? probe(b, INFINITY) : NULL;
}

static ons_status *bisect(bisection *b, double tolerance, double guess, double at_most) {
    if (at_most > 0) {
        ONS_TRY(probe(b, at_most));
        if (isinf(b->high)) return NULL;
        guess = guess > 0 && guess < b->high ? guess : b->high;
    }
    ONS_TRY(bracket(b, guess));
    if (isinf(b->high)) return NULL;
    while (b->high > b->low * (1 + tolerance)) {
        double limit = b->low + (b->high - b->low) / 2, before = b->high - b->low;
        ONS_TRY(probe(b, limit));
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
        for (uint32_t i = 0; i <= stage_count(b->judge); ++i) b->bounds[i] = (cut_bounds){0, node_count(b->judge)};
        ONS_TRY(probe(b, b->high * (1 - CLOSER_STEP)));
    }
    return NULL;
}

static ons_status *new_bisection(ons_judge *judge, bool relaxed, ons_arena *scratch, bisection *b) {
    size_t cuts = (size_t)stage_count(judge) + 1;
    *b = (bisection){.judge = judge, .relaxed = relaxed, .high = INFINITY};
    ONS_NEW(b->trial, scratch, cuts);
    ONS_NEW(b->reached, scratch, cuts);
    ONS_NEW(b->bounds, scratch, cuts);
    for (size_t i = 0; i < cuts; ++i) b->bounds[i].most = node_count(judge);
    return NULL;
}

static ons_status *search(ons_judge *judge, const ons_reach *options, ons_arena *scratch, uint32_t *first,
                          double *bottleneck) {
    bisection b;
    ONS_TRY(new_bisection(judge, options->relaxed, scratch, &b));
    double even = ons_work_seconds(ons_judge_problem(judge)->work, 0, node_count(judge)) / stage_count(judge);
    b.best = first;
    b.low = fmax(options->at_least, even * (1 - 1e-12));
    double at_least = b.low;
    ONS_TRY(bisect(&b, options->tolerance, options->guess, options->at_most));
    if (options->closer && isfinite(b.high)) ONS_TRY(look_closer(&b, at_least));
    *bottleneck = b.high;
    return NULL;
}

ons_status *ons_reach_search(ons_judge *judge, const ons_reach *options, uint32_t *first, double *bottleneck) {
    ons_arena *scratch = ons_arena_new();
    if (scratch == NULL) return ons_status_out_of_memory();
    ons_status *status = search(judge, options, scratch, first, bottleneck);
    ons_arena_free(scratch);
    return status;
}

/* --------------------------------------------------------------------------------------------------------- windows */

/* What no decision about tensors makes smaller. It grows with the stage. */
static bool may_hold(const ons_judge *judge, uint32_t first, uint32_t end, uint32_t stage, double limit) {
    const ons_planning_problem *p = ons_judge_problem(judge);
    if (ons_work_seconds(p->work, first, end) > limit) return false;
    if (p->capacity_bytes == 0) return true;
    ons_stage_memory m;
    ons_work_stage_memory(p->work, first, end, &p->schedule->loads[stage], &m);
    return m.weights + m.gradients + m.states + m.versions <= p->capacity_bytes;
}

void ons_reach_windows(const ons_judge *judge, double limit, uint32_t *earliest, uint32_t *furthest) {
    uint32_t stages = stage_count(judge), count = node_count(judge);
    furthest[0] = 0;
    for (uint32_t i = 0; i < stages; ++i) {
        uint32_t low = furthest[i], high = count - (stages - 1 - i);
        while (low < high) {
            uint32_t middle = high - (high - low) / 2;
            if (may_hold(judge, furthest[i], middle, i, limit))
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
            if (may_hold(judge, middle, earliest[i + 1], i, limit))
                high = middle;
            else
                low = middle + 1;
        }
        earliest[i] = low;
    }
}

/* ---------------------------------------------------------------------------------------------------------- refusal */

static ons_status *fill_without_limit(ons_judge *judge, ons_arena *scratch, bool *found) {
    bisection b;
    ONS_TRY(new_bisection(judge, false, scratch, &b));
    return fill(&b, INFINITY, found);
}

ons_status *ons_reach_attempt(ons_judge *judge, void *context, bool *found) {
    ons_arena *scratch = ons_arena_new();
    if (scratch == NULL) return ons_status_out_of_memory();
    ons_status *status = fill_without_limit(judge, scratch, found);
    ons_arena_free(scratch);
    return status;
}

/* Whether stages can hold what they need at least, some of them empty; where not, nothing fits. */
static ons_status *may_fit(ons_judge *judge, int64_t capacity, bool *fits) {
    uint32_t stages = stage_count(judge), count = node_count(judge), first = 0;
    *fits = false;
    for (uint32_t i = 0; i < stages; ++i) {
        uint32_t low = first, high = count;
        while (low < high) {
            uint32_t middle = high - (high - low) / 2;
            int64_t bytes;
            ONS_TRY(ons_judge_need(judge, first, middle, i, &bytes));
            if (bytes <= capacity)
                low = middle;
            else
                high = middle - 1;
        }
        first = low; /* none: what begins here may be for a later stage, which holds fewer micro-batches */
    }
    *fits = first == count;
    return NULL;
}

ons_status *ons_reach_may_fit(ons_judge *judge, bool *fits) {
    int64_t capacity = ons_judge_problem(judge)->capacity_bytes;
    *fits = true;
    return capacity == 0 ? NULL : may_fit(judge, capacity, fits);
}

/* A capacity below which nothing fits, from the judge's upwards, to within 1/64. */
static ons_status *find_floor(ons_judge *judge, int64_t *floor) {
    int64_t low = ons_judge_problem(judge)->capacity_bytes, high = low;
    for (bool fits = false; !fits;) {
        ONS_TRY(may_fit(judge, high, &fits));
        if (fits) break;
        ONS_CHECK(high < INT64_MAX / 4, ONS_INVALID_DATA, "no capacity is enough for these stages");
        low = high;
        high = 2 * high + 64;
    }
    while (high - low > high / 64) {
        int64_t middle = low + (high - low) / 2;
        bool fits;
        ONS_TRY(may_fit(judge, middle, &fits));
        *(fits ? &high : &low) = middle;
    }
    *floor = low;
    return NULL;
}

static ons_status *least_capacity(ons_judge *judge, ons_partition_attempt *attempt, void *context, int64_t *least) {
    int64_t low, high;
    ONS_TRY(find_floor(judge, &low));
    int64_t step = low / 64 + 64;
    high = low;
    for (bool found = false; !found; step *= 2) {
        ONS_CHECK(high < INT64_MAX / 4, ONS_INVALID_DATA, "no capacity is enough for these stages");
        low = high;
        high += step;
        ons_judge_set_capacity(judge, high);
        ONS_TRY(attempt(judge, context, &found));
    }
    while (high - low > high / 64) {
        bool found;
        int64_t middle = low + (high - low) / 2;
        ons_judge_set_capacity(judge, middle);
        ONS_TRY(attempt(judge, context, &found));
        if (found)
            high = middle;
        else
            low = middle;
    }
    *least = high;
    return NULL;
}

ons_status *ons_reach_least_capacity(ons_judge *judge, ons_partition_attempt *attempt, void *context, int64_t *least) {
    int64_t before = ons_judge_problem(judge)->capacity_bytes;
    ons_status *status = least_capacity(judge, attempt, context, least);
    ons_judge_set_capacity(judge, before);
    return status;
}
