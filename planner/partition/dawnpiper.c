/* DawnPiper's binary partition (Algorithm 1): the stages are halved, and the cut between the halves is looked for
 * between the positions that balance time and memory.
 *
 * What the paper leaves out, and what is the same but faster:
 * - A cut on which memory optimisation fails costs infinitely much; it does not count as "no optimisation needed".
 * - Subproblems are remembered by their nodes and stages, and given a limit: one that cannot get below what was found
 *   already is not finished. The nodes' own seconds, divided evenly, are such a bound.
 * - From the compute-balanced cut towards the memory-balanced one, one half grows and the other shrinks, so the best
 *   cut is where their times meet (the theorem's own argument). In long lists bisection finds it.
 */
#include "planner/partition/dawnpiper.h"

#include <math.h>
#include <stdlib.h>

#include "planner/partition/bisection.h"
#include "planner/partition/devices.h"

enum {
    SHORT_LIST = 12, /* candidates that are all tried */
    NEIGHBOURS = 2,  /* of the crossing in a longer one, on each side, */
    MANY_STAGES = 8, /* unless there are more than so many: each cut is then a search of its own */
};

/* What is known about a span. */
typedef struct answer {
    ons_cut_range span;
    double seconds; /* of the slowest stage or transfer; a lower bound where not `final` */
    uint32_t cut;   /* behind the middle stage */
    bool known, final, optimised;
} answer;

typedef struct search {
    ons_stage_costs *costs;
    const ons_planning_problem *problem;
    ons_cut_finder finder;
    uint32_t *cuts; /* a stack of lists, one for each level that is open */
    answer *answers;
    uint32_t size, used; /* open addressing: a power of two, at most half full */
    uint32_t most_candidates;
    uint32_t *first; /* the result */
} search;

/* ---------------------------------------------------------------------------------------------------------- answers */

static bool same_span(const ons_cut_range *a, const ons_cut_range *b) {
    return a->first == b->first && a->end == b->end && a->low == b->low && a->high == b->high;
}

static answer *find_answer(answer *answers, uint32_t size, const ons_cut_range *s) {
    uint64_t h = ((uint64_t)s->first << 32 | s->end) * 0x9e3779b97f4a7c15u;
    h = (h ^ h >> 31 ^ ((uint64_t)s->low << 32 | s->high)) * 0xbf58476d1ce4e5b9u;
    uint32_t at = (uint32_t)(h >> 32) & (size - 1);
    while (answers[at].known && !same_span(&answers[at].span, s)) at = (at + 1) & (size - 1);
    return &answers[at];
}

static ons_status *make_room(search *x) {
    if (x->size > 0 && x->used < x->size / 2) return NULL;
    ONS_CHECK(x->size <= UINT32_MAX / 4, ONS_OUT_OF_MEMORY, "the search has too many parts to remember");
    uint32_t size = x->size == 0 ? 1024 : x->size * 2;
    answer *answers = calloc(size, sizeof *answers);
    if (answers == NULL) return ons_status_out_of_memory();
    for (uint32_t i = 0; i < x->size; ++i)
        if (x->answers[i].known) *find_answer(answers, size, &x->answers[i].span) = x->answers[i];
    free(x->answers);
    x->answers = answers;
    x->size = size;
    return NULL;
}

static ons_status *keep(search *x, const answer *a) {
    ONS_TRY(make_room(x));
    answer *at = find_answer(x->answers, x->size, &a->span);
    if (!at->known) ++x->used;
    *at = *a;
    at->known = true;
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------------ BiPar */

static uint32_t middle_stage(const ons_cut_range *s) {
    return s->high - s->low == 2 ? s->low : s->low + (s->high - s->low) / 2; /* three stages: one and two */
}

static ons_cut_range left_of(const ons_cut_range *s, uint32_t stage, uint32_t cut) {
    return (ons_cut_range){s->first, cut, s->low, stage};
}
static ons_cut_range right_of(const ons_cut_range *s, uint32_t stage, uint32_t cut) {
    return (ons_cut_range){cut, s->end, stage + 1, s->high};
}

/* No split of the span is faster than its seconds divided evenly. */
static double least_seconds(const search *x, const ons_cut_range *s) {
    return ons_work_seconds(x->problem->work, s->first, s->end) / (s->high - s->low + 1);
}

static ons_status *bipartition(search *x, const ons_cut_range *span, double limit, uint32_t *cuts, answer *result);

/* Which half is the slower one at a cut. Along the candidates, one half grows and the other shrinks. */
typedef enum slower { NEITHER, GROWING, SHRINKING } slower;

/* Both halves at one cut, the growing one first; the better of this and the best is kept. `optimised`: one of them
 * swaps or recomputes, or may have to. */
static ons_status *try_cut(search *x, answer *best, uint32_t cut, bool left_grows, uint32_t *cuts, slower *which,
                           bool *optimised) {
    uint32_t stage = middle_stage(&best->span);
    ons_cut_range halves[] = {left_of(&best->span, stage, cut), right_of(&best->span, stage, cut)};
    answer grows, shrinks;
    *optimised = true;
    *which = SHRINKING;
    if (least_seconds(x, &halves[left_grows ? 1 : 0]) >= best->seconds) return NULL;
    *which = GROWING;
    ONS_TRY(bipartition(x, &halves[left_grows ? 0 : 1], best->seconds, cuts, &grows));
    if (grows.seconds >= best->seconds) return NULL;
    ONS_TRY(bipartition(x, &halves[left_grows ? 1 : 0], best->seconds, cuts, &shrinks));
    *optimised = grows.optimised || shrinks.optimised;
    *which = grows.seconds > shrinks.seconds ? GROWING : SHRINKING;
    double seconds = fmax(fmax(grows.seconds, shrinks.seconds), ons_stage_costs_transfer(x->costs, cut));
    if (seconds < best->seconds)
        *best = (answer){.span = best->span, .seconds = seconds, .cut = cut, .optimised = *optimised};
    return NULL;
}

/* A list of candidates and how far the search in it has come. */
typedef struct candidates {
    uint32_t *cuts, count;
    bool left_grows;
} candidates;

/* All of [from, to), in order, up to one where nothing is optimised: the halves become less even from there on, so
 * only savings in memory could pay. */
static ons_status *scan(search *x, const candidates *c, uint32_t from, uint32_t to, answer *best, bool *ended) {
    *ended = false;
    for (uint32_t i = from; i < to && !*ended; ++i) {
        slower which;
        bool optimised;
        ONS_TRY(try_cut(x, best, c->cuts[i], c->left_grows, c->cuts + c->count, &which, &optimised));
        *ended = !optimised;
    }
    return NULL;
}

/* Where one half's time overtakes the other's, by bisection: the best cut of a long list is there, or next to it. */
static ons_status *find_crossing(search *x, const candidates *c, answer *best, uint32_t *at) {
    uint32_t low = 1, high = c->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        slower which;
        bool optimised;
        ONS_TRY(try_cut(x, best, c->cuts[middle], c->left_grows, c->cuts + c->count, &which, &optimised));
        if (which == GROWING || !optimised)
            high = middle;
        else
            low = middle + 1;
    }
    *at = low;
    return NULL;
}

/* The case with which AdjacentPartition begins: two stages that fit as they are at the compute-balanced cut, which is
 * then taken as it stands, unless sending over it takes longer than a stage. */
static bool fits_as_is(const search *x, const ons_cut_range *s, uint32_t cut) {
    const ons_planning_problem *p = x->problem;
    if (s->high != s->low + 1) return false;
    double left = ons_work_seconds(p->work, s->first, cut), right = ons_work_seconds(p->work, cut, s->end);
    if (ons_stage_costs_transfer(x->costs, cut) > fmin(left, right)) return false;
    if (p->capacity_bytes == 0) return true;
    return ons_stage_costs_bytes(x->costs, s->first, cut, s->low) <= ons_stage_capacity(p, s->low) &&
           ons_stage_costs_bytes(x->costs, cut, s->end, s->high) <= ons_stage_capacity(p, s->high);
}

/* The loop of AdjacentPartition and of BiPar over the candidate cuts. */
static ons_status *try_cuts(search *x, answer *best, uint32_t *cuts) {
    const ons_cut_range *s = &best->span;
    uint32_t stage = middle_stage(s), at;
    bool ended;
    ons_balanced_cuts interval = ons_balance(x->problem, s, stage);
    if (fits_as_is(x, s, interval.compute)) {
        candidates compute = {&interval.compute, 1, true};
        return scan(x, &compute, 0, 1, best, &ended);
    }
    candidates c = {cuts, ons_identify_and_sort(&x->finder, s, stage, &interval, cuts),
                    interval.compute <= interval.memory};
    if (c.count > x->most_candidates) x->most_candidates = c.count;
    if (c.count <= SHORT_LIST) return scan(x, &c, 0, c.count, best, &ended);
    ONS_TRY(scan(x, &c, 0, 1, best, &ended));
    if (ended) return NULL;
    ONS_TRY(find_crossing(x, &c, best, &at));
    if (s->high - s->low >= MANY_STAGES) return NULL;
    return scan(x, &c, at > NEIGHBOURS ? at - NEIGHBOURS : 1, at + NEIGHBOURS < c.count ? at + NEIGHBOURS : c.count,
                best, &ended);
}

static ons_status *one_stage(search *x, double limit, answer *best) {
    ons_stage_evaluation v;
    ONS_TRY(ons_stage_costs_evaluate_below(x->costs, best->span.first, best->span.end, best->span.low, limit, &v));
    best->seconds = v.seconds;
    best->optimised = v.optimised || !v.feasible;
    best->final = true;
    return NULL;
}

/* BiPar. `limit`: what is not below it need not be found; the answer then says so (final: false). */
static ons_status *bipartition(search *x, const ons_cut_range *span, double limit, uint32_t *cuts, answer *result) {
    *result = (answer){.span = *span, .seconds = least_seconds(x, span), .optimised = true};
    if (result->seconds >= limit) return NULL;
    if (span->low == span->high) return one_stage(x, limit, result);
    const answer *known = find_answer(x->answers, x->size, span);
    if (known->known && (known->final || known->seconds >= limit)) {
        *result = *known;
        return NULL;
    }
    result->seconds = limit;
    ONS_TRY(try_cuts(x, result, cuts));
    result->final = result->seconds < limit || isinf(limit);
    return keep(x, result);
}

/* --------------------------------------------------------------------------------------------------------- strategy */

/* Cuts of an answered span and of its halves. */
static void collect(const search *x, const ons_cut_range *span, uint32_t *first) {
    if (span->low == span->high) return;
    const answer *a = find_answer(x->answers, x->size, span);
    uint32_t stage = middle_stage(span);
    ons_cut_range left = left_of(span, stage, a->cut), right = right_of(span, stage, a->cut);
    first[stage + 1] = a->cut;
    collect(x, &left, first);
    collect(x, &right, first);
}

/* `limit`: what is no faster is not wanted. */
static ons_status *run_bipar(search *x, double limit, uint32_t *first, bool *found) {
    const ons_planning_problem *p = x->problem;
    answer whole;
    ons_cut_range all = {0, p->work->node_count, 0, p->pipeline.stages - 1};
    for (uint32_t i = 0; i < x->size; ++i) x->answers[i].known = false;
    x->used = 0;
    first[0] = 0;
    first[p->pipeline.stages] = p->work->node_count;
    ONS_TRY(bipartition(x, &all, limit, x->cuts, &whole));
    *found = whole.seconds < limit;
    if (*found) collect(x, &all, first);
    return NULL;
}

static ons_status *attempt(ons_stage_costs *costs, void *context, bool *found) {
    search *x = context;
    return run_bipar(x, INFINITY, x->first, found);
}

static ons_status *prepare(search *x, ons_arena *scratch) {
    uint32_t levels = 2, stages = x->problem->pipeline.stages;
    while (stages >> levels != 0) ++levels;
    ONS_NEW(x->cuts, scratch, ((size_t)x->problem->work->node_count + 1) * levels);
    ONS_TRY(ons_cut_finder_make(x->problem, scratch, &x->finder));
    return make_room(x);
}

/* `least_bytes` NULL: where nothing fits, what would do is not wanted. */
static ons_status *solve(search *x, double limit, bool *found, int64_t *least_bytes) {
    ons_arena *scratch = ons_arena_new();
    if (scratch == NULL) return ons_status_out_of_memory();
    ons_status *status = prepare(x, scratch);
    if (status == NULL) status = run_bipar(x, limit, x->first, found);
    if (status == NULL && !*found && least_bytes != NULL)
        status = ons_bisection_least_capacity(x->costs, attempt, x, least_bytes);
    ons_arena_free(scratch);
    free(x->answers);
    return status;
}

ons_status *ons_dawnpiper_search(ons_stage_costs *costs, double limit, uint32_t *first, bool *found,
                                 uint32_t *candidate_cuts) {
    search x = {.costs = costs, .problem = ons_stage_costs_problem(costs), .first = first};
    ONS_TRY(solve(&x, limit, found, NULL));
    *candidate_cuts = x.most_candidates;
    return NULL;
}

static ons_status *split(ons_stage_costs *costs, ons_arena *arena, ons_partition *partition) {
    search x = {.costs = costs, .problem = ons_stage_costs_problem(costs)};
    *partition = (ons_partition){.stages = x.problem->pipeline.stages, .bottleneck_seconds = INFINITY};
    ONS_NEW(x.first, arena, (size_t)partition->stages + 1);
    partition->first = x.first;
    bool found;
    ONS_TRY(solve(&x, INFINITY, &found, &partition->least_bytes));
    partition->candidate_cuts = x.most_candidates;
    if (found) return ons_partition_evaluate(costs, partition);
    partition->stages_evaluated = ons_stage_costs_count(costs);
    return NULL;
}

const ons_partition_strategy ons_partition_dawnpiper = {
    "dawnpiper", split, "halves the stages between the compute-balanced and the memory-balanced cut (DawnPiper)"};
