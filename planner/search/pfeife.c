#include "planner/search/pfeife.h"

enum { MOST_LOOPS = 3 };

typedef struct pfeife {
    const ons_planning_problem *problem;
    const ons_pfeife_options *options;
    ons_arena *arena; /* of plans */
    ons_pfeife_plan *best;
    uint32_t devices, micro_batches;
    uint32_t *start; /* the best cuts of the last schedule with as many stages; NULL: none */
} pfeife;

/* ---------------------------------------------------------------------------------------------------------- schedules
 */

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
    *plan = (ons_pfeife_plan){.vectors = vectors,
                              .pipeline = {.generator = generator,
                                           .stages = vectors->loops * s->devices,
                                           .micro_batches = s->micro_batches,
                                           .devices = s->devices}};
    ONS_NEW(plan->schedule, s->arena, 1);
    return ons_schedule_make(&plan->pipeline, s->arena, plan->schedule);
}

/* ------------------------------------------------------------------------------------------------------------- search
 */

static bool is_better(const ons_beam_split *a, const ons_beam_split *b) {
    if (b->first == NULL || a->over_bytes != b->over_bytes) return b->first == NULL || a->over_bytes < b->over_bytes;
    return a->seconds < b->seconds;
}

static ons_status *try_schedule(pfeife *s, uint32_t loops, uint32_t loop_micro_batches, uint32_t most_prefetch) {
    ons_looped_vectors *vectors;
    ons_pfeife_plan plan;
    ons_planning_problem problem = *s->problem;
    ons_beam_options beam = s->options->beam;
    ONS_TRY(make_vectors(s, loops, loop_micro_batches, most_prefetch, &vectors));
    ONS_TRY(make_plan(s, vectors, &plan));
    problem.pipeline = plan.pipeline;
    problem.schedule = plan.schedule;
    if (s->start != NULL) beam.start = s->start;
    ONS_TRY(ons_beam_search(&problem, &beam, s->arena, &plan.split));
    s->start = plan.split.first;
    plan.schedules = s->best->schedules + 1;
    plan.looked_at = s->best->looked_at + plan.split.looked_at;
    if (is_better(&plan.split, &s->best->split)) *s->best = plan;
    s->best->schedules = plan.schedules;
    s->best->looked_at = plan.looked_at;
    return NULL;
}

/* From the least prefetch on, each with the cuts of the one before to begin with. */
static ons_status *try_prefetch(pfeife *s, uint32_t loops, uint32_t loop_micro_batches) {
    uint32_t most = s->devices - 1;
    if (s->options->most_prefetch < most) most = s->options->most_prefetch;
    for (uint32_t k = 0; k <= most; ++k) ONS_TRY(try_schedule(s, loops, loop_micro_batches, k));
    return NULL;
}

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
    ONS_CHECK(plan->schedules > 0, ONS_INVALID_ARGUMENT,
              "%u loops over %u devices take more stages than the model's %u nodes; take fewer", least, s.devices,
              problem->work->node_count);
    return NULL;
}
