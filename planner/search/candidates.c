#include "planner/search/candidates.h"

#include <math.h>
#include <string.h>

#include "planner/partition/beam.h"
#include "planner/schedule/separate.h"
#include "planner/search/flexpipe_tuner.h"
#include "planner/search/graph_stages.h"
#include "planner/search/pfeife.h"

enum { MOST_CANDIDATES = 64 };

/* Weight gradients are taken apart of schedules whose estimate is near the best one, and that have no more parts than
 * this: the time that it takes grows with their square. */
static const double NEAR = 1.15;
enum { MOST_PARTS = 2048 };

typedef struct listing {
    const ons_planning_problem *problem;
    const ons_portfolio_options *options;
    ons_arena *arena;
    uint32_t devices, chunks; /* chunks: stages on a device that are asked for; 0: one or two */
    ons_portfolio_candidate *items;
    ons_beam_split *splits; /* of each */
    uint32_t count;
} listing;

/* ---------------------------------------------------------------------------------------------------- one candidate */

/* What a schedule is refused for is why it lost; what is wrong with the program or the machine is passed on. */
static ons_status *note_refusal(const listing *l, ons_status *status, ons_portfolio_candidate *c) {
    int code = status == NULL ? ONS_OK : ons_status_get_code(status);
    if (code != ONS_INVALID_ARGUMENT && code != ONS_INVALID_DATA) return status;
    c->outcome = ONS_IMPOSSIBLE;
    c->why = ons_arena_format(l->arena, "%s", ons_status_get_message(status));
    c->schedule = NULL;
    ons_status_free(status);
    return c->why == NULL ? ons_status_out_of_memory() : NULL;
}

static bool is_repeated(const listing *l, ons_portfolio_candidate *c) {
    for (uint32_t i = 0; i < l->count && c->outcome != ONS_REPEATED; ++i) {
        const ons_portfolio_candidate *other = &l->items[i];
        if (other->schedule == NULL || other->outcome == ONS_REPEATED) continue;
        if (!ons_schedule_equal(other->schedule, c->schedule) || other->strategy != c->strategy) continue;
        c->outcome = ONS_REPEATED;
        c->why = ons_arena_format(l->arena, "the same lists as %s", other->name);
    }
    return c->outcome == ONS_REPEATED;
}

/* With links that are free: the beam sends what skips stages from each stage to the next, and where much does, as in a
 * U-Net, that would decide. */
static ons_status *find_estimate(const listing *l, ons_portfolio_candidate *c, ons_beam_split *split) {
    const ons_beam_options options = {.part_seconds = 0};
    ons_planning_problem p = *l->problem;
    p.pipeline = c->pipeline;
    p.schedule = c->schedule;
    p.capacity_bytes = 0;
    p.link_bandwidth = p.network_bandwidth = 0;
    ONS_TRY(ons_beam_search(&p, &options, l->arena, split));
    c->estimate = split->seconds;
    return NULL;
}

/* A plan says by which schedule it was made. */
static ons_status *name_generator(const listing *l, ons_portfolio_candidate *c) {
    ons_generator *own;
    if (c->schedule == NULL || strcmp(c->pipeline.generator->name, c->name) == 0) return NULL;
    ONS_NEW(own, l->arena, 1);
    *own = *c->pipeline.generator;
    own->name = c->name;
    c->pipeline.generator = own;
    return NULL;
}

/* `made`: what making its lists came to. */
static ons_status *add(listing *l, ons_portfolio_candidate *c, ons_status *made) {
    ONS_CHECK(l->count < MOST_CANDIDATES, ONS_DEFECT, "there are more schedules than a portfolio has places for");
    ons_beam_split *split = &l->splits[l->count];
    c->step_seconds = c->estimate = INFINITY;
    if (c->strategy == NULL) c->strategy = l->options->strategy->name;
    if (made == NULL) made = ons_schedule_verify(c->schedule, NULL, l->arena);
    if (made == NULL && !is_repeated(l, c)) made = find_estimate(l, c, split);
    ONS_TRY(note_refusal(l, made, c));
    ONS_TRY(name_generator(l, c));
    l->items[l->count++] = *c;
    return NULL;
}

static ons_status *make_schedule(const listing *l, ons_portfolio_candidate *c) {
    ONS_NEW(c->schedule, l->arena, 1);
    return ons_schedule_make(&c->pipeline, l->arena, c->schedule);
}

/* ------------------------------------------------------------------------------------------------------- generators */

static bool has_chunks(const listing *l, uint32_t chunks) {
    return l->chunks == 0 ? chunks <= (l->options->straight ? 1 : 2) : chunks == l->chunks;
}

/* Generators of one stage on a device with as many as are asked for say themselves why that cannot be. */
static ons_status *add_generator(listing *l, const ons_generator *g) {
    uint32_t chunks = l->chunks > 0 ? l->chunks : g->chunks;
    if (!has_chunks(l, chunks)) return NULL;
    ons_portfolio_candidate c = {
        .name = g->name, .pipeline = ons_pipeline_by(&l->problem->pipeline, g, l->devices * chunks, l->devices)};
    return add(l, &c, make_schedule(l, &c));
}

/* Not those whose sums are others than one stage's: bits do not depend on what is chosen here. */
static ons_status *add_generators(listing *l) {
    const ons_generator *first = ons_portfolio_first(l->devices * (l->chunks > 0 ? l->chunks : 1), l->devices);
    ONS_TRY(add_generator(l, first));
    for (const ons_generator *const *g = ons_generators; *g != NULL; ++g)
        if (*g != first && !(*g)->asynchronous && (*g)->group == NULL) ONS_TRY(add_generator(l, *g));
    return NULL;
}

/* --------------------------------------------------------------------------------------------------------- searches */

static ons_status *find_same_work(void *context, int64_t samples, const ons_workload **work) {
    *work = context;
    return NULL;
}

/* The micro-batches are those of the problem, counted as its samples. */
static ons_flexpipe_tuner make_tuner(const listing *l, bool wide) {
    return (ons_flexpipe_tuner){.space = {.least_devices = l->devices,
                                          .most_devices = l->devices,
                                          .batch = l->problem->pipeline.micro_batches,
                                          .least_samples = 1,
                                          .most_samples = 1,
                                          .chunks = l->chunks > 0 ? l->chunks : 2,
                                          .forward_first = wide,
                                          .intervals = wide,
                                          .limits = l->problem->capacity_bytes > 0},
                                .works = {find_same_work, (void *)l->problem->work}};
}

/* The best of each placement. `wide`: with what the paper leaves out, which is as fast and faster; but of what it
 * leaves in, weight gradients taken apart may gain more. */
static ons_status *add_flexpipe(listing *l, bool wide) {
    ons_flexpipe_tuner tuner = make_tuner(l, wide);
    ons_flexpipe_tuning *found;
    ONS_NEW(found, l->arena, 1);
    ons_status *status = ons_flexpipe_tune(l->problem, &tuner, l->arena, found);
    ons_portfolio_candidate failed = {.name = "flexpipe"};
    if (status != NULL) return add(l, &failed, status);
    for (uint32_t i = 0; i < ONS_PLACEMENTS; ++i) {
        const ons_flexpipe_found *x = &found->of[i];
        if (x->schedule == NULL || !has_chunks(l, x->pipeline.stages / l->devices)) continue;
        ons_portfolio_candidate c = {.pipeline = x->pipeline, .schedule = x->schedule};
        c.name = ons_arena_format(l->arena, "flexpipe (%s)", ons_flexpipe_name(&x->type, l->arena));
        ONS_TRY(add(l, &c, c.name == NULL ? ons_status_out_of_memory() : NULL));
    }
    return NULL;
}

static const char *vectors_name(const listing *l, const ons_looped_vectors *v) {
    const char *prefetch = "";
    for (uint32_t i = 0; i < v->devices && prefetch != NULL; ++i)
        prefetch = ons_arena_format(l->arena, "%s%s%u", prefetch, i == 0 ? "" : ", ", v->prefetch[i]);
    return ons_arena_format(l->arena, "pfeife (%u, %u, %u, (%s))", v->micro_batches, v->loops, v->loop_micro_batches,
                            prefetch);
}

/* Its schedule, with its own cuts and with the strategy's. */
static ons_status *add_pfeife(listing *l) {
    ons_pfeife_plan plan;
    ons_planning_problem p = *l->problem;
    ons_pfeife_options options = {.most_prefetch = ONS_PFEIFE_ANY, .least_loops = l->chunks, .most_loops = l->chunks};
    if (l->chunks == 0 && l->options->straight) options.most_loops = 1;
    p.pipeline.devices = l->devices;
    ons_status *status = ons_pfeife_search(&p, &options, l->arena, &plan);
    ons_portfolio_candidate c = {.name = "pfeife"};
    if (status != NULL) return add(l, &c, status);
    c = (ons_portfolio_candidate){.pipeline = plan.pipeline, .schedule = plan.schedule, .strategy = "pfeife"};
    c.name = vectors_name(l, plan.vectors);
    ons_portfolio_candidate replanned = c;
    ONS_TRY(add(l, &c, NULL));
    replanned.strategy = NULL;
    return l->options->strategy == ons_partition_strategy_find("pfeife") ? NULL : add(l, &replanned, NULL);
}

/* Stages that form a graph, with their own lists; those of a line are 1F1B's. Its estimate is its own simulation: the
 * beam, and what is verified without edges, know lines alone. */
static ons_status *add_graph(listing *l) {
    ons_planning_problem p = *l->problem;
    ons_graph_stages found;
    if (!has_chunks(l, 1) || l->devices == 1) return NULL;
    p.pipeline.stages = p.pipeline.devices = l->devices;
    p.capacity_bytes = 0;
    ons_status *status = ons_graph_stages_search(&p, true, l->arena, &found);
    ons_portfolio_candidate c = {.name = "graphpipe", .strategy = "graphpipe", .step_seconds = INFINITY};
    if (status != NULL) return add(l, &c, status);
    if (found.straight) return NULL;
    ONS_CHECK(l->count < MOST_CANDIDATES, ONS_DEFECT, "there are more schedules than a portfolio has places for");
    c.pipeline = found.planned.problem.pipeline;
    ONS_NEW(c.schedule, l->arena, 1);
    *c.schedule = *found.planned.problem.schedule;
    c.estimate = found.step_seconds;
    l->items[l->count++] = c;
    return NULL;
}

/* Shards are planned with lists of their own, whatever the schedule: one candidate. */
static ons_status *add_shards(listing *l) {
    ons_portfolio_candidate c = {.name = "shards",
                                 .strategy = l->options->strategy->name,
                                 .pipeline = ons_pipeline_by(&l->problem->pipeline, &ons_generator_one_f_one_b,
                                                             l->devices * (l->chunks > 0 ? l->chunks : 1), l->devices),
                                 .step_seconds = INFINITY,
                                 .estimate = INFINITY};
    ONS_TRY(note_refusal(l, make_schedule(l, &c), &c));
    l->items[l->count++] = c;
    return NULL;
}

/* -------------------------------------------------------------------------------------------------- gradients apart */

static ons_status *find_times(const listing *l, const ons_portfolio_candidate *c, const uint32_t *first,
                              ons_stage_times **times) {
    const ons_workload *work = l->problem->work;
    ONS_NEW(*times, l->arena, c->schedule->stages);
    for (uint32_t i = 0; i < c->schedule->stages; ++i) {
        double weight = ons_work_weight_seconds(work, first[i], first[i + 1]);
        (*times)[i] = (ons_stage_times){.forward = ons_work_forward_seconds(work, first[i], first[i + 1]),
                                        .input = ons_work_backward_seconds(work, first[i], first[i + 1]) - weight,
                                        .weight = weight};
    }
    return NULL;
}

static ons_status *take_apart(const listing *l, const ons_portfolio_candidate *whole, const uint32_t *first,
                              bool fuller, ons_portfolio_candidate *c) {
    ons_stage_times *times;
    uint32_t *in_flight, stages = whole->schedule->stages;
    ONS_TRY(find_times(l, whole, first, &times));
    ONS_NEW(in_flight, l->arena, stages);
    ONS_NEW(c->schedule, l->arena, 1);
    for (uint32_t i = 0; i < stages; ++i) in_flight[i] = whole->schedule->loads[i].in_flight;
    ONS_TRY(ons_schedule_separate(whole->schedule, times, fuller ? NULL : in_flight, l->arena, c->schedule));
    ONS_TRY(ons_schedule_put_updates_last(c->schedule, l->arena));
    return ons_generator_of_lists(c->schedule, whole->pipeline.generator->name, l->arena, &c->pipeline.generator);
}

/* In the memory of the whole schedule, and with as many micro-batches everywhere as its fullest stage holds. */
static ons_status *add_apart(listing *l, uint32_t whole, bool fuller) {
    const ons_portfolio_candidate *w = &l->items[whole];
    ons_portfolio_candidate c = {.pipeline = w->pipeline};
    c.name = ons_arena_format(l->arena, "%s, weight gradients apart%s", w->name, fuller ? ", fuller" : "");
    if (c.name == NULL) return ons_status_out_of_memory();
    return add(l, &c, take_apart(l, w, l->splits[whole].first, fuller, &c));
}

static double least_estimate(const listing *l) {
    double least = INFINITY;
    for (uint32_t i = 0; i < l->count; ++i) least = fmin(least, l->items[i].estimate);
    return least;
}

/* Not of lists that are apart already, nor of those that were refused. */
static bool is_worth_it(const listing *l, const ons_portfolio_candidate *c, double least) {
    if (c->schedule == NULL || c->outcome == ONS_REPEATED || c->schedule->loads[0].apart) return false;
    if ((uint64_t)c->schedule->stages * c->schedule->micro_batches > MOST_PARTS) return false;
    return c->strategy == l->options->strategy->name && c->estimate <= NEAR * least;
}

static ons_status *add_all_apart(listing *l) {
    uint32_t whole = l->count;
    double least = least_estimate(l);
    for (uint32_t i = 0; i < whole; ++i) {
        if (!is_worth_it(l, &l->items[i], least)) continue;
        ONS_TRY(add_apart(l, i, false));
        ONS_TRY(add_apart(l, i, true));
    }
    return NULL;
}

static ons_status *add_all(listing *l) {
    ONS_TRY(add_generators(l));
    ONS_TRY(add_pfeife(l));
    ONS_TRY(add_flexpipe(l, true));
    ONS_TRY(add_flexpipe(l, false));
    ONS_TRY(add_all_apart(l));
    return add_graph(l);
}

ons_status *ons_portfolio_list(const ons_planning_problem *problem, const ons_portfolio_options *options,
                               ons_arena *arena, ons_portfolio_candidate **candidates, uint32_t *count) {
    const ons_pipeline *p = &problem->pipeline;
    listing l = {.problem = problem, .options = options, .arena = arena};
    bool given = p->devices > 0 && p->stages > p->devices;
    l.devices = p->devices > 0 ? p->devices : p->stages;
    l.chunks = given ? p->stages / p->devices : 0;
    ONS_NEW(l.items, arena, MOST_CANDIDATES);
    ONS_NEW(l.splits, arena, MOST_CANDIDATES);
    ONS_TRY(problem->shards != NULL && l.devices > 1 ? add_shards(&l) : add_all(&l));
    *candidates = l.items;
    *count = l.count;
    return NULL;
}
