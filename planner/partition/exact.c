/* The optimum over all ways to cut the given order into intervals, by the costs of stages.
 *
 * 1. Without memory, costs are monotone, and bisection.c is exact. Where that split fits as it is, nothing can
 *    be better, and it is the answer.
 * 2. Else bisection.c gives a split that is good; a dynamic program over (stage, cut) then looks for a better one:
 *    best[s + 1][e] = min over b of max(best[s][b], cost of [b, e) as stage s, transfer over e).
 *    Swap and recompute cost what a strategy says, monotone or not, so nothing is skipped but what a lower bound rules
 *    out: the nodes' own seconds, and weights alone over the capacity.
 */
#include "planner/partition/exact.h"

#include <math.h>

#include "base/arena.h"
#include "planner/partition/bisection.h"

/* Pairs of cuts and stages that the dynamic program looks at, at most; over that the split of bisection.c stands. */
static const uint64_t MOST_PAIRS = (uint64_t)1 << 28;

typedef struct cut_table {
    ons_stage_costs *costs;
    const ons_workload *work;
    uint32_t stages;
    double limit;                  /* seconds; only what is better counts */
    uint32_t *earliest, *furthest; /* of the cut in front of each stage */
    double *before, *after;        /* best bottleneck of the stages up to a cut: in front of the stage, behind it */
    uint32_t **from;               /* [stage][cut behind it - earliest]: the cut in front of it */
    uint64_t budget, spent;        /* nodes of the stages evaluated; no budget: 0 */
} cut_table;

static bool is_empty(const cut_table *p, uint32_t stage) { return p->earliest[stage] > p->furthest[stage]; }

static bool is_spent(const cut_table *p) {
    return p->budget != 0 && ons_stage_costs_optimised_nodes(p->costs) > p->budget;
}

static uint64_t count_pairs(const cut_table *p) {
    uint64_t pairs = 0;
    for (uint32_t i = 0; i < p->stages; ++i) {
        if (is_empty(p, i) || is_empty(p, i + 1)) return 0;
        pairs += ((uint64_t)p->furthest[i] - p->earliest[i] + 1) * (p->furthest[i + 1] - p->earliest[i + 1] + 1);
    }
    return pairs;
}

/* Takes [begin, end) as the stage if that makes the split up to `end` better. */
static ons_status *try_stage(cut_table *p, uint32_t stage, uint32_t begin, uint32_t end) {
    double bound = fmax(p->before[begin], ons_work_seconds(p->work, begin, end));
    if (!(bound < p->after[end])) return NULL;
    ons_stage_evaluation v;
    ONS_TRY(ons_stage_costs_evaluate(p->costs, begin, end, stage, &v));
    double t = fmax(fmax(p->before[begin], v.seconds), ons_stage_costs_transfer(p->costs, end));
    if (!(t < p->after[end])) return NULL;
    p->after[end] = t;
    p->from[stage][end - p->earliest[stage + 1]] = begin;
    return NULL;
}

/* Tries all ends of the stage, and for each all beginnings from the shortest stage to the longest: once the nodes alone
 * take as long as the best, longer ones cannot help. */
static ons_status *fill_stage(cut_table *p, uint32_t stage) {
    uint32_t likely = p->earliest[stage];
    for (uint32_t end = p->earliest[stage + 1]; end <= p->furthest[stage + 1]; ++end) {
        if (is_spent(p)) return NULL;
        p->after[end] = p->limit;
        if (!(ons_stage_costs_transfer(p->costs, end) < p->limit)) continue;
        uint32_t last = p->furthest[stage] < end ? p->furthest[stage] : end - 1;
        /* Neighbouring ends are mostly best begun at the same place: seen first, it rules out the others. */
        if (likely <= last) ONS_TRY(try_stage(p, stage, likely, end));
        for (uint32_t begin = last + 1; begin-- > p->earliest[stage];) {
            if (!(ons_work_seconds(p->work, begin, end) < p->after[end])) break;
            ONS_TRY(try_stage(p, stage, begin, end));
        }
        if (p->after[end] < p->limit) likely = p->from[stage][end - p->earliest[stage + 1]];
    }
    return NULL;
}

static ons_status *fill_cut_table(cut_table *p, ons_arena *scratch) {
    ONS_NEW(p->before, scratch, (size_t)p->work->node_count + 1);
    ONS_NEW(p->after, scratch, (size_t)p->work->node_count + 1);
    ONS_NEW(p->from, scratch, p->stages);
    for (uint32_t i = 0; i < p->stages; ++i) {
        ONS_NEW(p->from[i], scratch, (size_t)(p->furthest[i + 1] - p->earliest[i + 1]) + 1);
        ONS_TRY(fill_stage(p, i));
        double *swap = p->before;
        p->before = p->after;
        p->after = swap;
    }
    return NULL;
}

/* Only cuts in windows are looked at in which a better split could have them. Where a window is empty there is none,
 * and what is known is proven best. `proven` is false where pairs of cuts are too many, or the budget ends first. */
static ons_status *improve(cut_table *p, ons_arena *scratch, uint32_t *first, double *bottleneck, bool *proven) {
    ONS_NEW(p->earliest, scratch, (size_t)p->stages + 1);
    ONS_NEW(p->furthest, scratch, (size_t)p->stages + 1);
    ons_bisection_windows(p->costs, p->limit, p->earliest, p->furthest);
    uint64_t pairs = count_pairs(p);
    *proven = pairs == 0;
    if (pairs == 0 || pairs > MOST_PAIRS) return NULL;
    ONS_TRY(fill_cut_table(p, scratch));
    if (is_spent(p)) return NULL;
    *proven = true;
    uint32_t cut = p->work->node_count;
    if (!(p->before[cut] < *bottleneck)) return NULL;
    *bottleneck = p->before[cut];
    for (uint32_t i = p->stages; i > 0; --i) {
        first[i] = cut;
        cut = p->from[i - 1][cut - p->earliest[i]];
    }
    first[0] = 0;
    return NULL;
}

ons_status *ons_exact_improve(ons_stage_costs *costs, double at_least, uint64_t node_budget, uint32_t *first,
                              double *bottleneck, bool *proven) {
    const ons_planning_problem *problem = ons_stage_costs_problem(costs);
    cut_table p = {.costs = costs,
                   .work = problem->work,
                   .stages = problem->pipeline.stages,
                   .limit = *bottleneck,
                   .budget = node_budget == 0 ? 0 : ons_stage_costs_optimised_nodes(costs) + node_budget};
    *proven = *bottleneck <= at_least * (1 + 1e-12);
    if (*proven) return NULL;
    ons_arena *scratch = ons_arena_new();
    if (scratch == NULL) return ons_status_out_of_memory();
    ons_status *status = improve(&p, scratch, first, bottleneck, proven);
    ons_arena_free(scratch);
    return status;
}

/* Searches without memory first, for a lower bound, and then with memory, for a good split, which the dynamic program
 * improves on or proves best. */
static ons_status *split(ons_stage_costs *costs, ons_arena *arena, ons_partition *partition) {
    double at_least, bottleneck;
    bool proven;
    const ons_planning_problem *p = ons_stage_costs_problem(costs);
    *partition = (ons_partition){.stages = p->pipeline.stages};
    uint32_t *first;
    ONS_NEW(first, arena, (size_t)partition->stages + 1);
    partition->first = first;
    ONS_TRY(
        ons_bisection_search(costs, &(ons_bisection_options){.relaxed = true, .tolerance = 1e-13}, first, &at_least));
    if (p->devices != NULL) at_least = 0; /* then it is no proof: bisection.h */
    ons_bisection_options with_memory = {.tolerance = 1e-6, .at_least = at_least * (1 - 1e-12)};
    ONS_TRY(ons_bisection_search(costs, &with_memory, first, &bottleneck));
    ONS_TRY(ons_exact_improve(costs, at_least, 0, first, &bottleneck, &proven));
    partition->bottleneck_seconds = bottleneck;
    if (isfinite(bottleneck)) return ons_partition_evaluate(costs, partition);
    ONS_TRY(ons_bisection_least_capacity(costs, ons_bisection_attempt, NULL, &partition->least_bytes));
    partition->stages_evaluated = ons_stage_costs_count(costs);
    return NULL;
}

const ons_partition_strategy ons_partition_exact = {
    "exact", split, "the optimum over all cuts of the order (the yardstick; slow where memory is short)"};
