#include "planner/search/step_search.h"

#include <math.h>
#include <string.h>

#include "planner/partition/cuts.h"
#include "planner/partition/devices.h"
#include "planner/partition/step_estimate.h"

static const uint64_t NODE_BUDGET = 4000;        /* of stages optimised, for each way of moving cuts */
static const uint64_t ESTIMATE_BUDGET = 1 << 21; /* of stages times micro-batches estimated, for each such way */
enum { STRIDES = 8, PASSES = 4, PLACES = 256, FEW_SPLITS = 20000 };

/* How much slower than the best a baseline's split may be to be looked at. */
static const double WORTH_IT = 1.05;

/* Baselines that look at times alone, and quickly, so that they cost nothing; ons_stage_costs evaluates memory. */
static const char *const baselines[] = {"gpipe-nodes", "compute-balanced-nodes", "gpipe", "pipedream"};

typedef struct seeker {
    ons_stage_costs *costs;
    const ons_planning_problem *problem;
    uint32_t stages;
    ons_step_stage *times;
    ons_step_walk walk;
    ons_cut_ends *ends; /* [cut], where `known` */
    bool *known;        /* [cut] */
    uint32_t *best, *trial;
    double seconds;      /* of a step with `best`, estimated */
    uint64_t most_nodes; /* stages may be optimised until so many of their nodes were */
    uint64_t estimated;  /* stages times micro-batches so far */
} seeker;

/* -------------------------------------------------------------------------------------------------------- one split */

/* Sets the times of a stage between its cuts. What crosses the cut in front of it is looked up, as searches come back
 * to the same cuts again and again. */
static void set_times(seeker *s, const uint32_t *first, uint32_t stage) {
    uint32_t cut = first[stage];
    s->times[stage] = ons_cuts_times(s->problem, first, stage, 0);
    if (stage == 0) return;
    if (!s->known[cut]) s->ends[cut] = ons_cut_ends_find(s->problem->work, cut);
    s->known[cut] = true;
    ons_cut_slacks(s->problem, &s->ends[cut], stage, cut, &s->times[stage]);
}

static bool fits_as_is(const seeker *s, const uint32_t *first, uint32_t stage) {
    int64_t capacity = ons_stage_capacity(s->problem, stage);
    return capacity == 0 || ons_stage_costs_bytes(s->costs, first[stage], first[stage + 1], stage) <= capacity;
}

/* A step's seconds, infinite where it is no less than `limit`. To optimise a stage costs far more than all else here:
 * so a lower bound of the step is asked before and after each, with the stages that are known by then, and each stage
 * is told the most that it may take. */
static ons_status *step_seconds(seeker *s, const uint32_t *first, double limit, double *seconds) {
    const ons_pipeline *p = &s->problem->pipeline;
    *seconds = INFINITY;
    for (uint32_t i = 0; i < s->stages; ++i) set_times(s, first, i);
    if (ons_step_bound(&s->walk, s->times) >= limit) return NULL;
    for (uint32_t i = 0; i < s->stages; ++i) {
        ons_stage_evaluation v;
        if (fits_as_is(s, first, i)) continue;
        if (ons_stage_costs_optimised_nodes(s->costs) > s->most_nodes) return NULL;
        double most = ons_step_most(&s->walk, s->times, i, limit);
        ONS_TRY(ons_stage_costs_evaluate_below(s->costs, first[i], first[i + 1], i, most, &v));
        if (!v.feasible) return NULL;
        s->times[i].backward = v.seconds - s->times[i].forward;
        if (ons_step_bound(&s->walk, s->times) >= limit) return NULL;
    }
    s->estimated += (uint64_t)p->stages * p->micro_batches;
    double estimate = ons_step_estimate(&s->walk, s->times);
    if (estimate < limit) *seconds = estimate;
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------ moving cuts */

static double time_before(const seeker *s, uint32_t cut) { return ons_work_seconds(s->problem->work, 0, cut); }

/* The cut that is nearest to `delta` seconds behind `cut`, at least one node away. */
static uint32_t shifted(const seeker *s, uint32_t cut, double delta) {
    uint32_t low = delta > 0 ? cut + 1 : 0, high = delta > 0 ? s->problem->work->node_count : cut - 1;
    double aim = time_before(s, cut) + delta;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (time_before(s, middle) + time_before(s, middle + 1) < 2 * aim)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static ons_status *try_trial(seeker *s, bool *improved) {
    double seconds;
    ONS_TRY(step_seconds(s, s->trial, s->seconds * (1 - 1e-9), &seconds));
    if (isinf(seconds)) return NULL;
    s->seconds = seconds;
    memcpy(s->best, s->trial, ((size_t)s->stages + 1) * sizeof *s->best);
    *improved = true;
    return NULL;
}

/* Cuts `from` to `to` moved alike, so that what one stage loses another gains, past those between. */
static ons_status *try_shift(seeker *s, uint32_t from, uint32_t to, double delta, bool *improved) {
    memcpy(s->trial, s->best, ((size_t)s->stages + 1) * sizeof *s->trial);
    for (uint32_t i = from; i <= to; ++i) s->trial[i] = shifted(s, s->best[i], delta);
    for (uint32_t i = from; i <= to + 1; ++i)
        if (s->trial[i] <= s->trial[i - 1]) return NULL;
    return try_trial(s, improved);
}

static bool is_spent(const seeker *s) { return s->estimated > ESTIMATE_BUDGET; }

static ons_status *try_all_shifts(seeker *s, double delta, bool *improved) {
    *improved = false;
    for (uint32_t length = 1; length < s->stages; length *= 2)
        for (uint32_t from = 1; from + length <= s->stages && !is_spent(s); ++from) {
            ONS_TRY(try_shift(s, from, from + length - 1, delta, improved));
            ONS_TRY(try_shift(s, from, from + length - 1, -delta, improved));
        }
    return NULL;
}

/* A cut at all places between its neighbours, or many: where links are slow, thin cuts lie far apart. */
static ons_status *scan(seeker *s, bool *improved) {
    *improved = false;
    for (uint32_t i = 1; i < s->stages; ++i) {
        uint32_t from = s->best[i - 1] + 1, end = s->best[i + 1], step = (end - from) / PLACES + 1;
        for (uint32_t place = from; place < end && !is_spent(s); place += step) {
            if (place == s->best[i]) continue;
            memcpy(s->trial, s->best, ((size_t)s->stages + 1) * sizeof *s->trial);
            s->trial[i] = place;
            ONS_TRY(try_trial(s, improved));
        }
    }
    return NULL;
}

/* The splits that there are, or `most` where there are more. */
static uint64_t count_splits(const seeker *s, uint64_t most) {
    uint64_t count = 1, places = s->problem->work->node_count - 1;
    for (uint32_t i = 1; i < s->stages && count < most; ++i) count = count * (places - i + 1) / i;
    return count < most ? count : most;
}

/* The next split in lexicographic order of its cuts: the last cut that can move moves by one, and those behind it
 * follow it as closely as they can. False where there is none. */
static bool next_trial(seeker *s) {
    uint32_t i = s->stages - 1;
    while (i > 0 && s->trial[i] + 1 >= s->trial[i + 1]) --i;
    if (i == 0) return false;
    ++s->trial[i];
    for (++i; i < s->stages; ++i) s->trial[i] = s->trial[i - 1] + 1;
    return true;
}

static ons_status *try_everything(seeker *s) {
    bool improved;
    s->trial[s->stages] = s->problem->work->node_count;
    for (uint32_t i = 0; i < s->stages; ++i) s->trial[i] = i;
    do ONS_TRY(try_trial(s, &improved));
    while (next_trial(s));
    return NULL;
}

/* From large strides to single nodes. */
static ons_status *refine_cuts(seeker *s) {
    double stride = time_before(s, s->problem->work->node_count) / s->stages / 4;
    s->estimated = 0;
    for (int i = 0; i <= STRIDES; ++i, stride = i < STRIDES ? stride / 2 : 0x1p-1000) {
        bool improved = true;
        for (int pass = 0; pass < PASSES && improved; ++pass) ONS_TRY(try_all_shifts(s, stride, &improved));
        improved = i == STRIDES;
        for (int pass = 0; pass < PASSES && improved; ++pass) ONS_TRY(scan(s, &improved));
    }
    return NULL;
}

/* -------------------------------------------------------------------------------------------------------- gathering */

static ons_status *open_seeker(ons_stage_costs *costs, ons_arena *arena, seeker *s) {
    const ons_planning_problem *p = ons_stage_costs_problem(costs);
    *s = (seeker){.costs = costs, .problem = p, .stages = p->pipeline.stages};
    s->most_nodes = ons_stage_costs_optimised_nodes(costs) + NODE_BUDGET;
    ONS_NEW(s->times, arena, s->stages);
    ONS_NEW(s->trial, arena, (size_t)s->stages + 1);
    ONS_NEW(s->ends, arena, (size_t)p->work->node_count + 1);
    ONS_NEW(s->known, arena, (size_t)p->work->node_count + 1);
    return ons_step_walk_make(&p->pipeline, p->schedule, arena, &s->walk);
}

static bool is_same(const seeker *s, const uint32_t *a, const uint32_t *b) {
    return memcmp(a, b, ((size_t)s->stages + 1) * sizeof *a) == 0;
}

static void insert(ons_step_splits *splits, uint32_t *first, double estimate) {
    uint32_t i = splits->count++;
    for (; i > 0 && splits->items[i - 1].estimate > estimate; --i) splits->items[i] = splits->items[i - 1];
    splits->items[i] = (ons_step_split){first, estimate};
}

static ons_status *gather(seeker *s, uint32_t *first, ons_step_splits *splits) {
    double seconds, limit = splits->count > 0 ? WORTH_IT * splits->items[0].estimate : INFINITY;
    for (uint32_t i = 0; i < splits->count; ++i)
        if (is_same(s, splits->items[i].first, first)) return NULL;
    ONS_TRY(step_seconds(s, first, limit, &seconds));
    if (isfinite(seconds)) insert(splits, first, seconds);
    return NULL;
}

/* What a baseline refuses (too few layers) is no loss. */
static ons_status *ask_baselines(seeker *s, ons_stage_costs *unlimited, ons_arena *arena, ons_step_splits *splits) {
    for (size_t i = 0; i < sizeof baselines / sizeof *baselines; ++i) {
        ons_partition p;
        ons_status *status = ons_partition_strategy_find(baselines[i])->search(unlimited, arena, &p);
        if (status != NULL && ons_status_get_code(status) == ONS_INVALID_ARGUMENT) {
            ons_status_free(status);
            continue;
        }
        ONS_TRY(status);
        ONS_TRY(gather(s, p.first, splits));
    }
    return NULL;
}

static ons_status *gather_baselines(seeker *s, ons_arena *arena, ons_step_splits *splits) {
    ons_planning_problem unlimited = *s->problem;
    ons_stage_costs *costs;
    unlimited.capacity_bytes = 0;
    unlimited.memory = NULL;
    ONS_TRY(ons_stage_costs_new(&unlimited, &costs));
    ons_status *status = ask_baselines(s, costs, arena, splits);
    ons_stage_costs_free(costs);
    return status;
}

ons_status *ons_step_gather(ons_stage_costs *costs, const ons_partition *start, ons_arena *arena,
                            ons_step_splits *splits) {
    seeker s;
    *splits = (ons_step_splits){0};
    ONS_TRY(open_seeker(costs, arena, &s));
    if (start != NULL) ONS_TRY(gather(&s, start->first, splits));
    return gather_baselines(&s, arena, splits);
}

ons_status *ons_step_refine(ons_stage_costs *costs, const ons_step_split *from, ons_arena *arena,
                            ons_step_split *refined) {
    seeker s;
    uint32_t *first;
    ONS_TRY(open_seeker(costs, arena, &s));
    ONS_NEW(first, arena, (size_t)s.stages + 1);
    memcpy(first, from->first, ((size_t)s.stages + 1) * sizeof *first);
    s.best = first;
    s.seconds = from->estimate;
    bool few = count_splits(&s, FEW_SPLITS) < FEW_SPLITS;
    ONS_TRY(few ? try_everything(&s) : refine_cuts(&s));
    *refined = (ons_step_split){s.best, s.seconds};
    return NULL;
}
