/* vPipe (Zhao et al., TPDS 2022): partition, swap and recompute are improved in turns. For a partition, every stage's
 * memory is brought under the cap (the problem's memory strategy: "vpipe-layers" is vPipe's own granularity); then
 * units move over the borders of neighbouring stages as Kernighan and Lin move nodes: always the best move that is
 * left, even where it makes things worse for the moment, every unit once; of that sequence the best beginning stays.
 * Passes are repeated until one brings nothing. It begins with the split of least variance.
 *
 * Compared are, in this order: bytes over the cap, the slowest of stages and transfers, and the sum of squared times,
 * which tells moves apart that do not touch the slowest stage.
 */
#include <math.h>

#include "planner/partition/granularity.h"

enum {
    PASSES = 64,
    PATIENCE = 24, /* moves without a new best one */
};

typedef struct stage_cost {
    double excess; /* bytes over the cap */
    double seconds;
} stage_cost;

typedef struct split_cost {
    double excess;  /* bytes over the cap, of all stages */
    double slowest; /* seconds */
    double squares; /* sum of squared seconds */
} split_cost;

typedef struct vpipe_search {
    ons_stage_costs *stage_costs;
    const ons_granularity *granularity;
    uint32_t stages;
    uint32_t *units, *best;
    stage_cost *costs; /* of the stages of `units` */
    bool *moved;       /* of every unit, in this pass */
} vpipe_search;

static bool is_better(const split_cost *a, const split_cost *b) {
    if (a->excess != b->excess) return a->excess < b->excess;
    if (a->slowest != b->slowest) return a->slowest < b->slowest;
    return a->squares < b->squares * (1 - 1e-12);
}

static ons_status *evaluate_stage(const vpipe_search *s, uint32_t first, uint32_t end, uint32_t stage,
                                  stage_cost *cost) {
    ons_stage_evaluation v;
    const ons_planning_problem *p = ons_stage_costs_problem(s->stage_costs);
    uint32_t from = s->granularity->cuts[first], to = s->granularity->cuts[end];
    ONS_TRY(ons_stage_costs_evaluate_exactly(s->stage_costs, from, to, stage, &v));
    /* What does not fit is compared by what it would take without any optimisation. */
    cost->excess = v.feasible ? 0 : (double)v.least_bytes - (double)p->capacity_bytes;
    cost->seconds = v.feasible ? v.seconds : ons_work_seconds(p->work, from, to);
    return NULL;
}

/* Of the split with stages `at` and `at + 1` as given, and the border between them in front of `border`. */
static split_cost total(const vpipe_search *s, uint32_t at, const stage_cost *left, const stage_cost *right,
                        uint32_t border) {
    split_cost sum = {0};
    for (uint32_t i = 0; i < s->stages; ++i) {
        const stage_cost *c = i == at ? left : i == at + 1 ? right : &s->costs[i];
        uint32_t cut = s->granularity->cuts[i == at + 1 ? border : s->units[i]];
        sum.excess += c->excess;
        sum.slowest = fmax(sum.slowest, fmax(c->seconds, ons_stage_costs_transfer(s->stage_costs, cut)));
        sum.squares += c->seconds * c->seconds;
    }
    return sum;
}

/* A border moved by one unit. */
typedef struct vpipe_move {
    uint32_t stage;  /* to the left of the border */
    uint32_t border; /* unit in front of which it then stands */
    uint32_t unit;   /* that changes sides */
    stage_cost left, right;
    split_cost cost;
} vpipe_move;

static ons_status *try_move(const vpipe_search *s, uint32_t stage, bool to_left, vpipe_move *best, bool *found) {
    uint32_t first = s->units[stage], border = s->units[stage + 1], end = s->units[stage + 2];
    vpipe_move move = {
        .stage = stage, .border = to_left ? border + 1 : border - 1, .unit = to_left ? border : border - 1};
    if (move.border <= first || move.border >= end || s->moved[move.unit]) return NULL;
    ONS_TRY(evaluate_stage(s, first, move.border, stage, &move.left));
    ONS_TRY(evaluate_stage(s, move.border, end, stage + 1, &move.right));
    move.cost = total(s, stage, &move.left, &move.right, move.border);
    if (*found && !is_better(&move.cost, &best->cost)) return NULL;
    *best = move;
    *found = true;
    return NULL;
}

static ons_status *find_move(const vpipe_search *s, vpipe_move *best, bool *found) {
    *found = false;
    for (uint32_t stage = 0; stage + 1 < s->stages; ++stage) {
        ONS_TRY(try_move(s, stage, false, best, found));
        ONS_TRY(try_move(s, stage, true, best, found));
    }
    return NULL;
}

static ons_status *evaluate_all(vpipe_search *s, split_cost *cost) {
    for (uint32_t i = 0; i < s->stages; ++i) ONS_TRY(evaluate_stage(s, s->units[i], s->units[i + 1], i, &s->costs[i]));
    *cost = total(s, s->stages, NULL, NULL, 0);
    return NULL;
}

/* One pass of Kernighan and Lin: moves are made even where they make things worse, since a better split may lie behind
 * a worse one; at the end all moves behind the best split are undone. */
static ons_status *pass(vpipe_search *s, split_cost *best, bool *improved) {
    split_cost start;
    *improved = false;
    memset(s->moved, 0, s->granularity->count * sizeof *s->moved);
    ONS_TRY(evaluate_all(s, &start));
    for (uint32_t idle = 0; idle < PATIENCE; ++idle) {
        vpipe_move move;
        bool found;
        ONS_TRY(find_move(s, &move, &found));
        if (!found) break;
        s->units[move.stage + 1] = move.border;
        s->costs[move.stage] = move.left;
        s->costs[move.stage + 1] = move.right;
        s->moved[move.unit] = true;
        if (!is_better(&move.cost, best)) continue;
        *best = move.cost;
        *improved = true;
        idle = 0;
        memcpy(s->best, s->units, ((size_t)s->stages + 1) * sizeof *s->best);
    }
    memcpy(s->units, s->best, ((size_t)s->stages + 1) * sizeof *s->units);
    return NULL;
}

static ons_status *search_vpipe(ons_stage_costs *stage_costs, const ons_granularity *granularity, ons_arena *arena,
                                uint32_t *units) {
    vpipe_search s = {.stage_costs = stage_costs,
                      .granularity = granularity,
                      .units = units,
                      .stages = ons_stage_costs_problem(stage_costs)->pipeline.stages};
    ONS_NEW(s.best, arena, (size_t)s.stages + 1);
    ONS_NEW(s.costs, arena, s.stages);
    ONS_NEW(s.moved, arena, granularity->count);
    ONS_TRY(ons_granularity_least_variance(stage_costs, granularity, arena, units));
    memcpy(s.best, units, ((size_t)s.stages + 1) * sizeof *units);
    split_cost best;
    ONS_TRY(evaluate_all(&s, &best));
    bool improved = true;
    for (int i = 0; i < PASSES && improved; ++i) ONS_TRY(pass(&s, &best, &improved));
    return NULL;
}

ONS_GRANULARITY_STRATEGIES(vpipe, "vpipe", search_vpipe,
                           "vPipe: units move over borders, Kernighan-Lin, with swap and recompute");
