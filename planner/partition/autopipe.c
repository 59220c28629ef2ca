/* AutoPipe's planner (Liu et al., CLUSTER 2022, section III-B): even stages first, then splits around the master stage,
 * each simulated under 1F1B; the fastest step that fits is taken.
 *
 * 1. The split whose slowest stage is fastest, without transfers and memory (algorithm 1).
 * 2. Stages behind the master stage give to those behind them, until the master stage waits for none of them while the
 *    pipeline empties (inequality 1), or another stage is the master.
 * 3. The master stage gives its first block to the stage in front, or its last one to the stage behind; the stages
 *    whose load has grown or shrunk are evened out by algorithm 1, or left. What does not move the master stage towards
 *    the end goes on with 2.
 *
 * Blocks are the parts between cuts that carry no more than those between layers do: of a transformer, attention with
 * its residual connection, and the same of its feed-forward network.
 */
#include <math.h>
#include <string.h>

#include "planner/partition/granularity.h"
#include "planner/partition/link.h"
#include "planner/partition/master_stage.h"

/* Simulated at most. The paper has no such limit; its blocks are tens, and nodes may be thousands. */
enum { MOST_SCHEMES = 2000 };

typedef struct scheme {
    uint32_t *units; /* stages + 1, in units */
    uint32_t master;
} scheme;

typedef struct planner {
    ons_stage_costs *costs;
    const ons_planning_problem *problem;
    ons_granularity granularity;
    uint32_t stages;
    uint32_t *last_cut; /* [parts · (count + 1) + units]: algorithm 1, for the first units in so many parts */
    ons_master_stage_finder finder;
    ons_master_stage_times *times;
    scheme *seen; /* those that were simulated; they are also those to go on with, in turn */
    uint32_t seen_count;
    uint32_t *best, *trial;
    double best_seconds; /* infinite: none fits */
} planner;

/* ------------------------------------------------------------------------------------------------------ algorithm 1 */

/* The slowest part of the first j units grows with j, and what is left behind them shrinks: the best cut is where they
 * cross, and it moves on with the end. */
static ons_status *even_out_all(planner *p, ons_arena *arena) {
    uint32_t count = p->granularity.count;
    const double *before = p->granularity.before;
    double *fewer, *slowest;
    ONS_NEW(p->last_cut, arena, ((size_t)p->stages + 1) * ((size_t)count + 1));
    ONS_NEW(fewer, arena, (size_t)count + 1);
    ONS_NEW(slowest, arena, (size_t)count + 1);
    memcpy(slowest, before, ((size_t)count + 1) * sizeof *slowest);
    for (uint32_t parts = 2; parts <= p->stages; ++parts) {
        uint32_t *cuts = p->last_cut + (size_t)parts * (count + 1), cut = parts - 1;
        memcpy(fewer, slowest, ((size_t)count + 1) * sizeof *slowest);
        for (uint32_t end = parts; end <= count; ++end) {
            while (cut + 1 < end &&
                   fmax(fewer[cut + 1], before[end] - before[cut + 1]) <= fmax(fewer[cut], before[end] - before[cut]))
                ++cut;
            cuts[end] = cut;
            slowest[end] = fmax(fewer[cut], before[end] - before[cut]);
        }
    }
    return NULL;
}

/* The first `parts` stages anew, up to where they end. */
static void even_out(const planner *p, uint32_t parts, uint32_t *units) {
    for (uint32_t part = parts; part > 1; --part)
        units[part - 1] = p->last_cut[(size_t)part * (p->granularity.count + 1) + units[part]];
}

/* ---------------------------------------------------------------------------------------------------------- schemes */

static uint32_t position(const planner *p, const uint32_t *units, uint32_t stage) {
    return p->granularity.cuts[units[stage]];
}

static void take_times(const planner *p, const uint32_t *units) {
    const ons_workload *work = p->problem->work;
    for (uint32_t i = 0; i < p->stages; ++i) {
        uint32_t first = position(p, units, i), end = position(p, units, i + 1);
        ons_master_stage_times *t = &p->times[i];
        *t = (ons_master_stage_times){ons_work_forward_seconds(work, first, end),
                                      ons_work_backward_seconds(work, first, end), 0, 0};
        if (i == 0) continue;
        t->arrive = ons_link_seconds(ons_link_before(p->problem, i), ons_work_cut_bytes(work, first));
        t->back = ons_link_seconds(ons_link_before(p->problem, i), ons_work_cut_gradient_bytes(work, first));
    }
}

static bool was_seen(const planner *p, const uint32_t *units) {
    for (uint32_t i = 0; i < p->seen_count; ++i)
        if (memcmp(p->seen[i].units, units, ((size_t)p->stages + 1) * sizeof *units) == 0) return true;
    return false;
}

static ons_status *fits(const planner *p, const uint32_t *units, bool *fit) {
    ons_stage_evaluation v = {.feasible = true};
    for (uint32_t i = 0; i < p->stages && v.feasible; ++i)
        ONS_TRY(ons_stage_costs_evaluate(p->costs, position(p, units, i), position(p, units, i + 1), i, &v));
    *fit = v.feasible;
    return NULL;
}

/* Keeps the scheme if it is the best so far. */
static ons_status *simulate(planner *p, const uint32_t *units, uint32_t *master) {
    bool fit;
    take_times(p, units);
    double seconds = ons_master_stage_find(&p->finder, p->times, master);
    if (!(seconds < p->best_seconds)) return NULL;
    ONS_TRY(fits(p, units, &fit));
    if (!fit) return NULL;
    p->best_seconds = seconds;
    memcpy(p->best, units, ((size_t)p->stages + 1) * sizeof *units);
    return NULL;
}

/* Simulates the trial, where it is new, and puts it with those to go on with if its master stage is at most `most`. */
static ons_status *try_split(planner *p, uint32_t most, ons_arena *arena) {
    uint32_t master;
    if (p->seen_count == MOST_SCHEMES || was_seen(p, p->trial)) return NULL;
    ONS_TRY(simulate(p, p->trial, &master));
    scheme *s = &p->seen[p->seen_count];
    ONS_NEW(s->units, arena, (size_t)p->stages + 1);
    memcpy(s->units, p->trial, ((size_t)p->stages + 1) * sizeof *s->units);
    s->master = master <= most ? master : p->stages; /* of no stage: it is only remembered */
    ++p->seen_count;
    return NULL;
}

/* -------------------------------------------------------------------------------------------------------- searching */

/* Step 2, in place. Where `times` are of the split: whether stages master + 1 to `stage` keep the master waiting. */
static bool keeps_waiting(const planner *p, uint32_t master, uint32_t stage) {
    double load = 0;
    for (uint32_t i = master + 1; i <= stage; ++i) load += p->times[i].forward + p->times[i].backward;
    return load > (stage - master) * p->times[master].backward * (1 + 1e-9);
}

static ons_status *adjust(planner *p, uint32_t *units, uint32_t *master) {
    uint32_t before = *master;
    for (uint32_t stage = before + 1; stage + 1 < p->stages; ++stage) {
        take_times(p, units);
        while (keeps_waiting(p, before, stage) && units[stage + 1] > units[stage] + 1) {
            --units[stage + 1];
            ONS_TRY(simulate(p, units, master));
            if (*master != before) return NULL;
        }
    }
    return NULL;
}

/* Step 3: `cut` is the one that moves, by a unit; the first `parts` stages are evened out, too. */
static ons_status *shift(planner *p, const uint32_t *units, uint32_t master, uint32_t cut, bool later, uint32_t parts,
                         ons_arena *arena) {
    memcpy(p->trial, units, ((size_t)p->stages + 1) * sizeof *units);
    if (later ? units[cut] + 1 >= units[cut + 1] : units[cut] - 1 <= units[cut - 1]) return NULL;
    p->trial[cut] = later ? units[cut] + 1 : units[cut] - 1;
    ONS_TRY(try_split(p, master, arena));
    even_out(p, parts, p->trial);
    return try_split(p, master, arena);
}

static ons_status *shift_master(planner *p, const uint32_t *units, uint32_t master, ons_arena *arena) {
    if (master == 0) return NULL;
    ONS_TRY(shift(p, units, master, master, true, master, arena));
    if (master + 1 == p->stages) return NULL;
    return shift(p, units, master, master + 1, false, master + 1, arena);
}

/* The paper goes on from the adjusted scheme alone; with few micro-batches the one before is worth as much. */
static ons_status *go_on(planner *p, const scheme *s, ons_arena *arena) {
    uint32_t master = s->master, *units;
    ONS_TRY(shift_master(p, s->units, master, arena));
    ONS_NEW(units, arena, (size_t)p->stages + 1);
    memcpy(units, s->units, ((size_t)p->stages + 1) * sizeof *units);
    ONS_TRY(adjust(p, units, &master));
    return shift_master(p, units, master, arena);
}

/* `known`: positions of a split to begin with besides, where a unit is a node; NULL: none. */
static ons_status *search_splits(planner *p, const uint32_t *known, ons_arena *arena) {
    ONS_NEW(p->seen, arena, MOST_SCHEMES);
    ONS_NEW(p->best, arena, (size_t)p->stages + 1);
    ONS_NEW(p->trial, arena, (size_t)p->stages + 1);
    ONS_NEW(p->times, arena, p->stages);
    ONS_TRY(ons_master_stage_finder_make(p->stages, p->problem->pipeline.micro_batches, arena, &p->finder));
    ONS_TRY(even_out_all(p, arena));
    p->best_seconds = INFINITY;
    p->trial[p->stages] = p->granularity.count;
    even_out(p, p->stages, p->trial);
    memcpy(p->best, p->trial, ((size_t)p->stages + 1) * sizeof *p->best);
    ONS_TRY(try_split(p, p->stages, arena));
    if (known != NULL) memcpy(p->trial, known, ((size_t)p->stages + 1) * sizeof *known);
    ONS_TRY(try_split(p, p->stages, arena));
    for (uint32_t i = 0; i < p->seen_count; ++i)
        if (p->seen[i].master < p->stages) ONS_TRY(go_on(p, &p->seen[i], arena));
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------------ units */

static bool is_layer_end(const ons_workload *work, uint32_t cut) {
    return work->nodes[cut].layer != work->nodes[cut - 1].layer;
}

/* A cut within a layer bounds a block where it carries no more than either end of the layer does. */
static void join_blocks(const ons_workload *work, ons_granularity *g) {
    uint32_t kept = 0, end = 0;
    int64_t front = INT64_MAX, behind = INT64_MAX;
    for (uint32_t cut = 1; cut < work->node_count; ++cut) {
        int64_t bytes = ons_work_cut_bytes(work, cut);
        if (end < cut) {
            for (end = cut; end < work->node_count && !is_layer_end(work, end);) ++end;
            behind = end < work->node_count ? ons_work_cut_bytes(work, end) : INT64_MAX;
        }
        if (cut == end) front = bytes;
        if (bytes <= behind && bytes <= front) g->cuts[++kept] = cut;
    }
    g->cuts[++kept] = work->node_count;
    g->count = kept;
    for (uint32_t i = 0; i <= kept; ++i) g->before[i] = ons_work_seconds(work, 0, g->cuts[i]);
}

static ons_status *split_blocks(ons_stage_costs *costs, ons_arena *arena, ons_partition *partition) {
    planner p = {.costs = costs, .problem = ons_stage_costs_problem(costs)};
    p.stages = p.problem->pipeline.stages;
    *partition = (ons_partition){.stages = p.stages};
    ONS_TRY(ons_granularity_make(costs, false, arena, &p.granularity));
    join_blocks(p.problem->work, &p.granularity);
    ONS_CHECK(p.granularity.count >= p.stages, ONS_INVALID_ARGUMENT,
              "%u stages are more than the model's %u blocks, and this strategy keeps blocks whole; take fewer, or "
              "autopipe-nodes",
              p.stages, p.granularity.count);
    ONS_NEW(partition->first, arena, (size_t)p.stages + 1);
    ONS_TRY(search_splits(&p, NULL, arena));
    for (uint32_t i = 0; i <= p.stages; ++i) partition->first[i] = position(&p, p.best, i);
    return ons_partition_evaluate(costs, partition);
}

/* Begins with the split of blocks besides, where there are enough of them: nodes alone are small steps, and a cut that
 * carries more is in the way of many. */
static ons_status *split_nodes(ons_stage_costs *costs, ons_arena *arena, ons_partition *partition) {
    planner p = {.costs = costs, .problem = ons_stage_costs_problem(costs)};
    ons_status *status = split_blocks(costs, arena, partition);
    bool few = status != NULL && ons_status_get_code(status) == ONS_INVALID_ARGUMENT;
    if (!few) ONS_TRY(status);
    if (few) ons_status_free(status);
    p.stages = p.problem->pipeline.stages;
    ONS_TRY(ons_granularity_make(costs, false, arena, &p.granularity));
    ONS_TRY(search_splits(&p, few ? NULL : partition->first, arena));
    *partition = (ons_partition){.stages = p.stages, .first = p.best};
    return ons_partition_evaluate(costs, partition);
}

const ons_partition_strategy ons_partition_autopipe = {
    "autopipe", split_blocks, "AutoPipe: even stages, then the one that the step waits for gives blocks away"};
const ons_partition_strategy ons_partition_autopipe_nodes = {"autopipe-nodes", split_nodes,
                                                             "AutoPipe, with nodes for blocks"};
