#include "planner/search/shard_stages.h"

#include <math.h>

#include "planner/search/shard_lists.h"
#include "planner/simulate/pipeline_simulation.h"
#include "planner/workload/order.h"

static const char NAME[] = "shards";
static const double EQUAL = 1e-9; /* steps that differ by less, relatively, are as fast */
static const double NEARLY_EQUAL = 0.01;

/* Cuts by how much longer than need be the slowest device may take, so that messages are smaller. */
static const double SLACKS[] = {0, 0.01, 0.03, 0.08};

/* Other cuts are tried with the fastest ways of the first. */
enum { WAYS_KEPT = 10 };

/* What is simulated at most, in tasks of the simulator. Budgets count work and not seconds, so that the same problem
 * gives the same plan on every machine. */
enum {
    TASKS_OF_WAYS = 300000,
    TASKS_OF_CUTS = 300000, /* twice: by computing, and with memory */
    TASKS_OF_MOVES = 200000,
    TASKS_OF_DECISIONS = 20, /* of a node whose stage does not fit as it is */
    STAGES_A_TASK = 25,      /* that the search for a cycle passes in the time of a task */
};

/* Cuts, and a way to make lists. */
typedef struct trial {
    const uint32_t *first; /* of all stages */
    uint32_t way;
    /* found: */
    bool feasible;
    double step_seconds; /* infinite: not feasible, or the lists hang */
    int64_t bytes;       /* of all stages; not feasible: the smallest capacity that would do */
} trial;

typedef struct shard_search {
    ons_planning_problem problem; /* with its nodes in `order` */
    ons_shard_order order;
    ons_arena *arena;
    ons_stage_memo *memo; /* owned */
    ons_shard_way *ways;
    uint32_t way_count;
    trial *best; /* a few ways, the best first, each with the best cuts that were tried with it */
    uint32_t best_count;
    uint64_t tasks, most; /* of all simulations: what they cost, and when there are enough */
} shard_search;

/* ---------------------------------------------------------------------------------------------------- what is asked */

/* Options that place stages, size or copy them, or order their actions contradict what this search decides itself. Each
 * is refused by its name, so that none is ignored in silence. */
static ons_status *check_problem(const ons_planning_problem *problem) {
    const ons_pipeline *p = &problem->pipeline;
    ONS_CHECK(p->devices == 0 || p->devices == p->stages, ONS_INVALID_ARGUMENT,
              "with --vocabulary-shards each device has one stage beside its shards, and asked for are %u stages on %u "
              "devices; leave out --devices",
              p->stages, p->devices);
    ONS_CHECK(
        problem->devices == NULL, ONS_INVALID_ARGUMENT,
        "--vocabulary-shards takes devices that are alike, and these differ; name one kind of device, or leave the "
        "shards out");
    ONS_CHECK(
        problem->choice == NULL, ONS_INVALID_ARGUMENT,
        "with --vocabulary-shards all stages take the same micro-batches, in one copy; leave out --stage-sizes and "
        "--stage-replicas");
    ONS_CHECK(!problem->follows_lists, ONS_INVALID_ARGUMENT,
              "--vocabulary-shards makes its own lists of actions, and asked for are others (%s)", p->generator->name);
    ONS_CHECK(!p->generator->asynchronous, ONS_INVALID_ARGUMENT,
              "--vocabulary-shards needs a synchronous schedule, and %s updates between micro-batches",
              p->generator->name);
    ONS_CHECK(problem->sliced == 0, ONS_INVALID_ARGUMENT,
              "with --vocabulary-shards no forward parts are in halves; leave out --slices");
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------ one attempt */

/* Lists for these cuts, as a problem of stages that are planned; everything in `arena`. */
static ons_status *take_lists(shard_search *s, const uint32_t *first, uint32_t way, ons_arena *arena,
                              ons_planned *planned) {
    ons_planning_problem *p = &planned->problem;
    ons_placed_plan placed;
    ons_schedule *lists, *schedule;
    uint64_t tried = 0;
    ONS_NEW(lists, arena, 1);
    ONS_NEW(schedule, arena, 1);
    *planned = (ons_planned){.order = NAME, .node_at = s->order.node_at, .problem = s->problem};
    planned->by_step = p->objective == ONS_OBJECTIVE_BY_SCHEDULE;
    ONS_TRY(ons_shard_placed_plan(&s->problem, &s->order, first, arena, &placed));
    ONS_TRY(ons_shard_schedule(&placed, &s->ways[way], arena, lists, &tried));
    s->tasks += tried * lists->stages / STAGES_A_TASK;
    ONS_TRY(ons_generator_of_lists(lists, NAME, arena, &p->pipeline.generator));
    p->pipeline.stages = lists->stages;
    p->pipeline.devices = lists->devices;
    ONS_TRY(ons_schedule_make(&p->pipeline, arena, schedule));
    p->schedule = schedule;
    planned->partition.stages = lists->stages;
    ONS_NEW(planned->partition.first, arena, (size_t)lists->stages + 1);
    memcpy(planned->partition.first, first, ((size_t)lists->stages + 1) * sizeof *first);
    return NULL;
}

/* Lists, decisions, and how long a step takes. */
static ons_status *run(shard_search *s, const uint32_t *first, uint32_t way, ons_arena *arena,
                       ons_shard_stages *found) {
    ons_planned *planned = &found->planned;
    ons_pipeline_forecast forecast;
    found->step_seconds = INFINITY;
    ONS_TRY(take_lists(s, first, way, arena, planned));
    uint64_t nodes = 0;
    ONS_TRY(ons_device_memory_evaluate(planned, s->memo, arena, &nodes));
    s->tasks += TASKS_OF_DECISIONS * nodes;
    if (!planned->partition.feasible) return NULL;
    const ons_pipeline_setup setup = {.problem = &planned->problem,
                                      .first = planned->partition.first,
                                      .solutions = planned->solutions,
                                      .schedule = planned->problem.schedule,
                                      .times_alone = true};
    ONS_TRY(ons_pipeline_simulate(&setup, arena, &forecast));
    found->step_seconds = forecast.iteration_seconds;
    s->tasks += ons_simulation_task_count(forecast.simulation);
    ons_simulation_free(forecast.simulation);
    return NULL;
}

/* Of a trial that fits, `bytes` is what all stages take together, by which steps of the same time are compared; of one
 * that does not, the smallest capacity of a device that would do. */
static void take_result(const ons_shard_stages *found, trial *t) {
    t->feasible = found->planned.partition.feasible;
    t->step_seconds = found->step_seconds;
    t->bytes = t->feasible ? 0 : found->planned.partition.least_bytes;
    for (uint32_t i = 0; t->feasible && i < found->planned.partition.stages; ++i)
        t->bytes += found->planned.solutions[i].memory.total;
}

/* Lists that cannot run are as good as none. */
static ons_status *run_trial(shard_search *s, trial *t) {
    ons_shard_stages found;
    ons_arena *scratch = ons_arena_new();
    if (scratch == NULL) return ons_status_out_of_memory();
    *t = (trial){.first = t->first, .way = t->way, .step_seconds = INFINITY, .bytes = INT64_MAX};
    ons_status *status = run(s, t->first, t->way, scratch, &found);
    int code = status == NULL ? ONS_OK : ons_status_get_code(status);
    if (code == ONS_OK) take_result(&found, t);
    ons_arena_free(scratch);
    if (code != ONS_INVALID_ARGUMENT && code != ONS_INVALID_DATA) return status;
    ons_status_free(status);
    return NULL;
}

/* What fits is better than what does not; then a faster step; of equal ones what takes less memory. */
static bool is_better(const trial *a, const trial *b) {
    if (a->feasible != b->feasible) return a->feasible;
    if (!a->feasible) return a->bytes < b->bytes;
    if (fabs(a->step_seconds - b->step_seconds) > EQUAL * b->step_seconds) return a->step_seconds < b->step_seconds;
    return a->bytes < b->bytes;
}

/* In their order, which the first of equal ones keep. */
static void remember(shard_search *s, const trial *t) {
    uint32_t at = s->best_count;
    for (uint32_t i = 0; i < s->best_count; ++i) {
        if (s->best[i].way != t->way) continue;
        if (!is_better(t, &s->best[i])) return;
        at = i;
        break;
    }
    if (at == s->best_count) ++s->best_count;
    for (; at > 0 && is_better(t, &s->best[at - 1]); --at) s->best[at] = s->best[at - 1];
    s->best[at] = *t;
}

/* ------------------------------------------------------------------------------------------------------ trying cuts */

/* A step takes no less than its slowest device computes. */
static double least_step(const shard_search *s, const uint32_t *first) {
    double most = 0;
    for (uint32_t device = 0; device < s->order.devices; ++device) {
        double seconds = 0;
        for (uint32_t i = 0; i < ons_shard_stage_count(&s->order); ++i)
            if (ons_shard_stage_device(&s->order, i) == device)
                seconds += ons_work_seconds(s->problem.work, first[i], first[i + 1]);
        seconds *= s->problem.pipeline.micro_batches;
        if (seconds > most) most = seconds; /* not fmax: GCC 12.2 for arm64 fails over it (tools/build/arm64.sh) */
    }
    return most;
}

/* No way to make lists can save cuts whose slowest device alone computes for as long as the best whole step takes. */
static bool is_hopeless(const shard_search *s, const uint32_t *first) {
    return s->best_count > 0 && s->best[0].feasible && least_step(s, first) * (1 - EQUAL) >= s->best[0].step_seconds;
}

static bool has_time(const shard_search *s) { return s->tasks < s->most; }

static ons_status *try_ways(shard_search *s, const uint32_t *first) {
    s->most = s->tasks + TASKS_OF_WAYS;
    for (uint32_t i = 0; i < s->way_count; ++i) {
        trial t = {.first = first, .way = i};
        if (!has_time(s) || is_hopeless(s, first)) break;
        ONS_TRY(run_trial(s, &t));
        remember(s, &t);
    }
    return NULL;
}

static ons_status *try_kept_ways(shard_search *s, const uint32_t *first) {
    uint32_t ways[WAYS_KEPT], count = s->best_count < WAYS_KEPT ? s->best_count : WAYS_KEPT;
    for (uint32_t i = 0; i < count; ++i) ways[i] = s->best[i].way;
    for (uint32_t i = 0; i < count && has_time(s) && !is_hopeless(s, first); ++i) {
        trial t = {.first = first, .way = ways[i]};
        ONS_TRY(run_trial(s, &t));
        remember(s, &t);
    }
    return NULL;
}

/* The first cuts that are tried are tried in all ways to make lists, others in those that were fast: which way is fast
 * depends on how parts interlock, which a cut that moves by a few nodes hardly changes. */
static ons_status *try_ways_of(shard_search *s, const uint32_t *cuts) {
    uint32_t *first;
    ONS_NEW(first, s->arena, (size_t)ons_shard_stage_count(&s->order) + 1);
    ons_shard_cuts_place(&s->order, cuts, first);
    if (s->best_count > 0) return try_kept_ways(s, first);
    ONS_TRY(try_ways(s, first));
    s->most = s->tasks + TASKS_OF_CUTS;
    return NULL;
}

/* Tries the cuts whose slowest device is as fast as can be, then cuts that let it be a little slower (SLACKS). Of each
 * such limit there are several cuts (ons_shard_filling), which differ in where devices have time to spare. */
static ons_status *try_cuts(shard_search *s, const ons_shard_cutting *cutting) {
    uint32_t *cuts, row = s->order.devices + 1;
    double fastest;
    ONS_NEW(cuts, s->arena, (size_t)ONS_SHARD_FILLINGS * row);
    ONS_TRY(ons_shard_cuts_fastest(cutting, &fastest));
    for (size_t i = 0; isfinite(fastest) && i < sizeof SLACKS / sizeof *SLACKS; ++i) {
        bool found;
        ONS_TRY(ons_shard_cuts_find(cutting, fastest * (1 + SLACKS[i]), cuts, &found));
        for (uint32_t filling = 0; found && filling < ONS_SHARD_FILLINGS; ++filling)
            ONS_TRY(try_ways_of(s, cuts + (size_t)filling * row));
    }
    return NULL;
}

/* With what stages decide where they do not fit as they are, under the lists of the best trial. */
static ons_status *try_cuts_with_memory(shard_search *s) {
    ons_shard_cutting cutting;
    ons_planned like;
    ons_stage_costs *costs;
    ONS_TRY(take_lists(s, s->best[0].first, s->best[0].way, s->arena, &like));
    ONS_TRY(ons_stage_costs_new(&like.problem, &costs));
    ons_status *status = ons_shard_cutting_make(&s->problem, &s->order, costs, s->memo, s->arena, &cutting);
    s->most = s->tasks + TASKS_OF_CUTS;
    if (status == NULL) status = try_cuts(s, &cutting);
    ons_stage_costs_free(costs);
    return status;
}

/* ------------------------------------------------------------------------------------------------------ moving cuts */

/* Moves one cut of the best trial by so many nodes. The move counts where the simulated step becomes shorter, and not
 * where it becomes equal: so moves come to an end. */
static ons_status *move_cut(shard_search *s, uint32_t cut, int64_t stride, bool *improved) {
    const trial *best = &s->best[0];
    uint32_t *first, stages = ons_shard_stage_count(&s->order);
    int64_t to = (int64_t)best->first[cut] + stride;
    *improved = false;
    if (to <= best->first[cut - 1] || to >= best->first[cut + 1] || !ons_shard_may_cut(&s->problem, (uint32_t)to))
        return NULL;
    ONS_NEW(first, s->arena, (size_t)stages + 1);
    memcpy(first, best->first, ((size_t)stages + 1) * sizeof *first);
    first[cut] = (uint32_t)to;
    if (is_hopeless(s, first)) return NULL;
    trial t = {.first = first, .way = best->way};
    ONS_TRY(run_trial(s, &t));
    *improved = is_better(&t, best) && t.step_seconds < best->step_seconds * (1 - EQUAL);
    if (*improved) remember(s, &t);
    return NULL;
}

/* What cuts by computing do not see, the simulator does: where a device waits. Strides fall by halves to a single node,
 * from about an eighth of a device's share of the body. */
static ons_status *move_cuts(shard_search *s) {
    int64_t stride = 1, nodes = s->order.body_end - s->order.body_first;
    uint32_t body = s->order.early_count;
    s->most = s->tasks + TASKS_OF_MOVES;
    while (stride * 8 * s->order.devices < nodes) stride *= 2;
    for (; stride > 0; stride /= 2)
        for (bool any = true; any;) {
            any = false;
            for (uint32_t i = 1; i < s->order.devices; ++i)
                for (int back = 0; back < 2 && has_time(s); ++back) {
                    bool improved;
                    ONS_TRY(move_cut(s, body + i, back ? -stride : stride, &improved));
                    any |= improved;
                }
        }
    return NULL;
}

/* Of ways that are nearly as fast as the fastest the one that takes least memory comes first: more micro-batches in
 * flight than 1F1B has gain little, and hold several times the memory. */
static void prefer_less_memory(shard_search *s) {
    uint32_t least = 0;
    for (uint32_t i = 1; i < s->best_count; ++i) {
        const trial *t = &s->best[i];
        bool fast = t->feasible && t->step_seconds <= s->best[0].step_seconds * (1 + NEARLY_EQUAL);
        if (fast && t->bytes < s->best[least].bytes) least = i;
    }
    trial taken = s->best[least];
    for (; least > 0; --least) s->best[least] = s->best[least - 1];
    s->best[0] = taken;
}

/* ----------------------------------------------------------------------------------------------------------- search */

static bool is_without_decisions(const shard_search *s) {
    return s->problem.capacity_bytes == 0 || s->problem.memory == NULL;
}

/* Cuts by computing alone come first: they are quick to find, and right where all fits. Only where a stage can decide
 * about its memory are cuts searched again with what it would then need. */
static ons_status *search(shard_search *s, ons_shard_stages *found) {
    ons_shard_cutting cutting;
    ONS_TRY(ons_shard_ways_list(s->arena, &s->ways, &s->way_count));
    ONS_NEW(s->best, s->arena, s->way_count);
    ONS_TRY(ons_shard_cutting_make(&s->problem, &s->order, NULL, NULL, s->arena, &cutting));
    ONS_TRY(try_cuts(s, &cutting));
    ONS_CHECK(s->best_count > 0, ONS_DEFECT, "a model with shards has no cuts");
    if (!is_without_decisions(s)) ONS_TRY(try_cuts_with_memory(s));
    if (s->best[0].feasible) {
        prefer_less_memory(s);
        ONS_TRY(move_cuts(s));
    }
    return run(s, s->best[0].first, s->best[0].way, s->arena, found);
}

/* Nodes as the problem has them, in the order of the stages, with their shards. */
static ons_status *take_order(const ons_planning_problem *problem, shard_search *s) {
    ons_node_shards *shards;
    ons_workload *work;
    uint32_t *of, *shown, *position, nodes = problem->work->node_count;
    ONS_NEW(shards, s->arena, 1);
    ONS_NEW(work, s->arena, 1);
    ONS_NEW(of, s->arena, nodes);
    ONS_NEW(shown, s->arena, nodes);
    ONS_NEW(position, s->arena, nodes);
    ONS_TRY(ons_work_reorder(problem->work, s->order.node_at, s->arena, work));
    for (uint32_t i = 0; i < nodes; ++i) position[s->order.node_at[i]] = i;
    for (uint32_t i = 0; i < nodes; ++i) {
        of[i] = problem->shards->of[s->order.node_at[i]];
        shown[i] = position[ons_shown_by(problem->shards, s->order.node_at[i])];
    }
    *shards = (ons_node_shards){problem->shards->count, of, shown};
    s->problem = *problem;
    s->problem.work = work;
    s->problem.shards = shards;
    s->problem.pipeline.devices = problem->pipeline.stages;
    s->problem.schedule = NULL;
    return NULL;
}

ons_status *ons_shard_stages_search(const ons_planning_problem *problem, ons_arena *arena, ons_shard_stages *found) {
    shard_search s = {.arena = arena};
    *found = (ons_shard_stages){.planned = {.problem = *problem}, .step_seconds = INFINITY};
    ONS_TRY(check_problem(problem));
    ONS_TRY(ons_shard_order_make(problem, arena, &s.order));
    ONS_TRY(take_order(problem, &s));
    ONS_TRY(ons_stage_memo_new(&s.memo));
    ons_status *status = search(&s, found);
    ons_stage_memo_free(s.memo);
    ONS_TRY(status);
    if (found->planned.partition.feasible) return NULL;
    found->planned.problem.pipeline = s.problem.pipeline; /* as it was asked for: what would do can be looked for */
    return NULL;
}
