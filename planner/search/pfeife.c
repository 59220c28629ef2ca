#include "planner/search/pfeife.h"

#include "planner/search/runnable.h"

enum { MOST_LOOPS = 3 };

/* Of schedules with more parts than these, a critical path takes so long that each is looked at briefly first; then a
 * few of the best, at length. */
enum { FEW_PARTS = 600, BRIEFLY = 2000, AT_LENGTH = 20000, REFINED = 3 };

typedef struct pfeife {
    const ons_planning_problem *problem;
    const ons_pfeife_options *options;
    ons_arena *arena; /* of plans */
    ons_pfeife_plan *best;
    uint32_t devices, micro_batches;
    ons_pfeife_plan brief[REFINED + 1]; /* the best that were looked at briefly, the best first */
    uint32_t brief_count;
    uint32_t *start; /* the best cuts of the last schedule with as many stages; NULL: none */
} pfeife;

/* -------------------------------------------------------------------------------------------------------- schedules */

/* Device d of D prefetches min(k, D - 1 - d) micro-batches, the pattern of the paper's figure 3 (pfeife.h). */
static ons_status *make_vectors(const pfeife *s, uint32_t loops, uint32_t loop_micro_batches, uint32_t most_prefetch,
                                ons_looped_vectors **vectors) {
    uint32_t *prefetch;
    ONS_NEW(prefetch, s->arena, s->devices);
    for (uint32_t i = 0; i < s->devices; ++i) {
        uint32_t way = s->devices - 1 - i;
        prefetch[i] = way < most_prefetch ? way : most_prefetch;
    }
    ONS_NEW(*vectors, s->arena, 1);
    **vectors = (ons_looped_vectors){.micro_batches = s->micro_batches,
                                     .loops = loops,
                                     .loop_micro_batches = loop_micro_batches,
                                     .devices = s->devices,
                                     .prefetch = prefetch};
    return NULL;
}

static ons_status *make_plan(const pfeife *s, ons_looped_vectors *vectors, ons_pfeife_plan *plan) {
    const ons_generator *generator;
    ONS_TRY(ons_generator_of_vectors(vectors, "looped", s->arena, &generator));
    *plan = (ons_pfeife_plan){
        .vectors = vectors,
        .pipeline = ons_pipeline_by(&s->problem->pipeline, generator, vectors->loops * s->devices, s->devices)};
    ONS_NEW(plan->schedule, s->arena, 1);
    return ons_schedule_make(&plan->pipeline, s->arena, plan->schedule);
}

static ons_status *can_run(const pfeife *s, const ons_schedule *schedule, bool *can) {
    *can = true;
    return s->options->endless_room ? NULL : ons_schedule_can_run(schedule, can);
}

/* ----------------------------------------------------------------------------------------------------------- search */

/* Bytes beyond the capacity come first, so that a search from cuts that do not fit moves towards some that do. */
static bool is_better(const ons_beam_split *a, const ons_beam_split *b) {
    if (b->first == NULL || a->over_bytes != b->over_bytes) return b->first == NULL || a->over_bytes < b->over_bytes;
    return a->seconds < b->seconds;
}

/* The best cuts of the schedule before, where it had as many stages, are what the search begins with: neighbours among
 * the vectors have cuts that are nearly the same. */
static ons_status *look_for_cuts(pfeife *s, uint64_t most_splits, ons_pfeife_plan *plan) {
    ons_planning_problem problem = *s->problem;
    ons_beam_options beam = s->options->beam;
    problem.pipeline = plan->pipeline;
    problem.schedule = plan->schedule;
    beam.most_splits = most_splits;
    if (s->start != NULL) beam.start = s->start;
    ONS_TRY(ons_beam_search(&problem, &beam, s->arena, &plan->split));
    s->start = plan->split.first;
    s->best->looked_at += plan->split.looked_at;
    plan->schedules = s->best->schedules;
    plan->refused = s->best->refused;
    plan->looked_at = s->best->looked_at;
    if (is_better(&plan->split, &s->best->split)) *s->best = *plan;
    return NULL;
}

/* Keeps the few best by insertion, the best first; the one behind them falls out. */
static void remember(pfeife *s, const ons_pfeife_plan *plan) {
    uint32_t i = s->brief_count;
    for (; i > 0 && is_better(&plan->split, &s->brief[i - 1].split); --i) s->brief[i] = s->brief[i - 1];
    s->brief[i] = *plan;
    if (s->brief_count < REFINED) ++s->brief_count;
}

/* A critical path takes time in proportion to the parts of a step, so that long schedules get a small number of splits
 * first, and the best of them a large one (refine). */
static ons_status *try_schedule(pfeife *s, uint32_t loops, uint32_t loop_micro_batches, uint32_t most_prefetch) {
    ons_looped_vectors *vectors;
    ons_pfeife_plan plan;
    bool runs, large = (uint64_t)loops * s->devices * s->micro_batches > FEW_PARTS;
    ONS_TRY(make_vectors(s, loops, loop_micro_batches, most_prefetch, &vectors));
    ONS_TRY(make_plan(s, vectors, &plan));
    ONS_TRY(can_run(s, plan.schedule, &runs));
    s->best->refused += !runs;
    if (!runs) return NULL;
    ++s->best->schedules;
    ONS_TRY(look_for_cuts(s, large ? BRIEFLY : 0, &plan));
    if (large) remember(s, &plan);
    return NULL;
}

static ons_status *refine(pfeife *s) {
    for (uint32_t i = 0; i < s->brief_count; ++i) {
        ons_pfeife_plan plan = s->brief[i];
        s->start = plan.split.first;
        ONS_TRY(look_for_cuts(s, AT_LENGTH, &plan));
    }
    return NULL;
}

/* From the least prefetch on, each with the cuts of the one before to begin with. */
static ons_status *try_prefetch(pfeife *s, uint32_t loops, uint32_t loop_micro_batches) {
    uint32_t most = s->devices - 1;
    if (s->options->most_prefetch < most) most = s->options->most_prefetch;
    for (uint32_t k = 0; k <= most; ++k) ONS_TRY(try_schedule(s, loops, loop_micro_batches, k));
    return NULL;
}

/* The paper wants a B_l that divides the micro-batches and is no smaller than the number of devices. Cuts of fewer
 * loops are for fewer stages, and nothing to begin with. */
static ons_status *try_loops(pfeife *s, uint32_t loops) {
    s->start = NULL;
    if (loops == 1) return try_prefetch(s, 1, s->micro_batches);
    for (uint32_t size = s->devices; size <= s->micro_batches; ++size)
        if (s->micro_batches % size == 0) ONS_TRY(try_prefetch(s, loops, size));
    return NULL;
}

ons_status *ons_pfeife_search(const ons_planning_problem *problem, const ons_pfeife_options *options, ons_arena *arena,
                              ons_pfeife_plan *plan) {
    pfeife s = {.problem = problem, .options = options, .arena = arena, .best = plan};
    s.devices = problem->pipeline.devices > 0 ? problem->pipeline.devices : problem->pipeline.stages;
    s.micro_batches = problem->pipeline.micro_batches;
    *plan = (ons_pfeife_plan){0};
    ONS_CHECK(s.devices > 0 && s.micro_batches >= s.devices, ONS_INVALID_ARGUMENT,
              "looped schedules need at least as many micro-batches as devices, %u; give more than %u --micro-batches",
              s.devices, s.micro_batches);
    uint32_t least = options->least_loops > 0 ? options->least_loops : 1;
    uint32_t most = options->most_loops > 0 ? options->most_loops : MOST_LOOPS;
    for (uint32_t loops = least; loops <= most && (uint64_t)loops * s.devices <= problem->work->node_count; ++loops)
        ONS_TRY(try_loops(&s, loops));
    ONS_TRY(refine(&s));
    ONS_CHECK(
        plan->schedules > 0 || plan->refused == 0, ONS_INVALID_ARGUMENT,
        "%u devices wait for each other with every looped schedule of %u loops and more: receivers have too little "
        "room for messages; take fewer loops or other --micro-batches",
        s.devices, least);
    ONS_CHECK(plan->schedules > 0, ONS_INVALID_ARGUMENT,
              "%u loops over %u devices take more stages than the model's %u nodes; take fewer", least, s.devices,
              problem->work->node_count);
    return NULL;
}
