#include "planner/search/flexpipe_tuner.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "planner/partition/cuts.h"
#include "planner/schedule/separate.h"
#include "planner/search/runnable.h"
#include "planner/simulate/pipeline_simulation.h"

static const double EQUAL = 1e-9; /* steps that differ by less, relatively, are as fast */

/* A point of the space, made: the problem that it is, with its lists and cuts. */
typedef struct point {
    uint32_t index;
    ons_flexpipe_type type;
    ons_planning_problem problem;
    ons_schedule schedule;
    uint32_t *first;
    uint64_t hash;   /* of the lists */
    bool runs;       /* with the room that receivers have */
    double estimate; /* of a step, in seconds */
    int64_t bytes;   /* of the fullest device */
} point;

/* Pairs of pp and mbs with a placement. */
typedef struct group {
    ons_flexpipe_sizes sizes;
    ons_placement placement;
    const ons_workload *work;
    double bound;    /* seconds that no step takes less than */
    double exchange; /* seconds in which copies add up their gradients */
} group;

typedef struct tuning {
    const ons_planning_problem *problem;
    const ons_flexpipe_tuner *tuner;
    ons_arena *arena; /* of what is found */
    ons_flexpipe_tuning *result;
} tuning;

/* ---------------------------------------------------------------------------------------------------------- a point */

/* 1F1B has S - s micro-batches in flight on stage s of S; half as many are rounded up, so that each stage has one. */
static ons_status *set_limits(const ons_flexpipe_type *t, uint32_t stages, ons_arena *arena,
                              ons_flexpipe_options *options) {
    uint32_t *limits;
    *options = t->options;
    if (t->limit == ONS_LIMIT_NONE) return NULL;
    ONS_NEW(limits, arena, stages);
    for (uint32_t i = 0; i < stages; ++i) limits[i] = t->limit == ONS_LIMIT_HALF ? (stages - i + 1) / 2 : stages - i;
    options->stage_limits = limits;
    return NULL;
}

static ons_status *make_lists(const tuning *t, const group *g, ons_arena *arena, point *p) {
    const ons_generator *generator;
    ons_flexpipe_options *options;
    uint32_t stages = ons_flexpipe_stages(&t->tuner->space, g->placement, g->sizes.devices);
    ons_pipeline *pipeline = &p->problem.pipeline;
    ONS_NEW(options, arena, 1);
    ONS_TRY(set_limits(&p->type, stages, arena, options));
    ONS_TRY(ons_generator_of_flexpipe(options, "flexpipe", arena, &generator));
    *pipeline = ons_pipeline_by(&t->problem->pipeline, generator, stages, g->sizes.devices);
    pipeline->micro_batches = g->sizes.micro_batches;
    return ons_schedule_make(pipeline, arena, &p->schedule);
}

/* A point of the group is a number; schedule and cuts follow from it, and can be made again from it, so that what is
 * only looked at need not be kept. */
static ons_status *make_point(const tuning *t, const group *g, uint32_t index, ons_arena *arena, point *p) {
    double *before;
    *p = (point){.index = index, .problem = *t->problem};
    p->type = ons_flexpipe_type_at(&t->tuner->space, g->placement, g->sizes.devices, index);
    p->problem.work = g->work;
    ONS_TRY(make_lists(t, g, arena, p));
    uint32_t stages = p->problem.pipeline.stages;
    ONS_NEW(p->first, arena, (size_t)stages + 1);
    ONS_TRY(ons_cuts_seconds_before(g->work, arena, &before));
    ons_cuts_even(before, g->work->node_count, 0, stages, p->first);
    return ons_schedule_can_run(&p->schedule, &p->runs);
}

/* The estimate goes by the lists. The bound does not: it holds for every schedule of these cuts (ons_step_bound). */
static ons_status *estimate(point *p, ons_arena *arena, double *bound) {
    ons_step_walk walk;
    ons_step_stage *times;
    int64_t *bytes;
    ONS_NEW(times, arena, p->schedule.stages);
    ONS_NEW(bytes, arena, p->schedule.devices);
    p->problem.schedule = &p->schedule;
    ONS_TRY(ons_step_walk_make(&p->problem.pipeline, &p->schedule, arena, &walk));
    for (uint32_t i = 0; i < p->schedule.stages; ++i) times[i] = ons_cuts_times(&p->problem, p->first, i, 0);
    p->estimate = ons_step_estimate(&walk, times);
    p->bytes = ons_cuts_bytes(&p->problem, p->first, bytes);
    *bound = ons_step_bound(&walk, times);
    return NULL;
}

/* Different preferences often give the same lists, of which one is simulated. Lists that differ and share a hash of 64
 * bits would cost a point, and nothing else. */
static uint64_t hash_lists(const ons_schedule *s) {
    uint64_t h = ONS_HASH_BASIS;
    for (uint32_t device = 0; device < s->devices; ++device)
        for (uint32_t i = 0; i < s->lists[device].count; ++i) {
            const ons_action *a = &s->lists[device].items[i];
            h = (h ^ ((uint64_t)a->kind << 60 ^ (uint64_t)a->stage << 32 ^ a->micro_batch)) * 0x9e3779b97f4a7c15u;
            h ^= h >> 29;
        }
    return h;
}

static bool fits(const tuning *t, int64_t bytes) {
    return t->problem->capacity_bytes == 0 || bytes <= t->problem->capacity_bytes;
}

/* ---------------------------------------------------------------------------------------------------- what is found */

static bool is_better(const ons_flexpipe_found *a, const ons_flexpipe_found *b) {
    if (b->schedule == NULL || a->feasible != b->feasible) return b->schedule == NULL || a->feasible;
    if (!a->feasible) return a->bytes < b->bytes;
    if (fabs(a->step_seconds - b->step_seconds) > EQUAL * b->step_seconds) return a->step_seconds < b->step_seconds;
    return a->bytes < b->bytes;
}

/* Time and bubbles, and what a device holds at any time, messages included, where that is more than its stages add up
 * to. Infinite where the lists hang: what the simulator has room for is not quite what ons_schedule_verify counts on.
 */
static ons_status *simulate(const ons_planning_problem *p, ons_flexpipe_found *x) {
    ons_pipeline_setup setup = {.problem = p, .first = x->first};
    ons_pipeline_forecast f;
    ons_arena *scratch = ons_arena_new();
    if (scratch == NULL) return ons_status_out_of_memory();
    ons_status *status = ons_pipeline_simulate(&setup, scratch, &f);
    if (status == NULL) {
        x->step_seconds = f.iteration_seconds;
        x->bubble_share = 0;
        for (uint32_t i = 0; i < f.device_count; ++i) {
            x->bubble_share += f.devices[i].bubble_share / f.device_count;
            if (f.devices[i].peak_bytes > x->bytes) x->bytes = f.devices[i].peak_bytes;
        }
        ons_simulation_free(f.simulation);
    } else if (ons_status_get_code(status) == ONS_INVALID_DATA) {
        ons_status_free(status);
        status = NULL;
        x->step_seconds = INFINITY;
    }
    ons_arena_free(scratch);
    return status;
}

/* The point made once more, in memory that stays. */
static ons_status *keep(const tuning *t, const group *g, const ons_flexpipe_found *as_found, uint32_t index,
                        ons_flexpipe_found *kept) {
    point p;
    *kept = *as_found;
    ONS_TRY(make_point(t, g, index, t->arena, &p));
    ONS_NEW(kept->schedule, t->arena, 1);
    *kept->schedule = p.schedule;
    kept->pipeline = p.problem.pipeline;
    kept->first = p.first;
    return NULL;
}

static ons_status *keep_if_better(tuning *t, const group *g, uint32_t index, const ons_flexpipe_found *x) {
    ons_flexpipe_found *of = &t->result->of[g->placement], kept;
    if (!is_better(x, of) && !is_better(x, &t->result->best)) return NULL;
    ONS_TRY(keep(t, g, x, index, &kept));
    if (is_better(x, of)) *of = kept;
    if (is_better(x, &t->result->best)) t->result->best = kept;
    return NULL;
}

static ons_status *simulate_point(tuning *t, const group *g, point *p) {
    ons_flexpipe_found x = {.sizes = g->sizes,
                            .type = p->type,
                            .work = g->work,
                            .schedule = &p->schedule,
                            .first = p->first,
                            .bytes = p->bytes};
    ++t->result->simulated;
    p->problem.schedule = &p->schedule;
    ONS_TRY(simulate(&p->problem, &x));
    x.step_seconds += g->exchange;
    x.feasible = fits(t, x.bytes);
    if (isinf(x.step_seconds)) return NULL;
    return keep_if_better(t, g, p->index, &x);
}

/* ---------------------------------------------------------------------------------------------------------- a group */

/* Steps of the placement that take as long are not of interest. */
static double to_beat(const tuning *t, const group *g) {
    const ons_flexpipe_found *of = &t->result->of[g->placement];
    return of->schedule != NULL && of->feasible ? of->step_seconds * (1 - EQUAL) : INFINITY;
}

static int by_estimate(const void *left, const void *right) {
    const point *a = left, *b = right;
    if (a->estimate != b->estimate) return a->estimate < b->estimate ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

static bool is_known(const point *points, uint32_t count, uint64_t hash) {
    for (uint32_t i = 0; i < count; ++i)
        if (points[i].hash == hash) return true;
    return false;
}

/* Of lists that are in the group once already, nothing is kept. */
static ons_status *look_at(tuning *t, const group *g, uint32_t index, point *points, uint32_t *count) {
    double bound;
    point p;
    ons_arena *scratch = ons_arena_new();
    if (scratch == NULL) return ons_status_out_of_memory();
    ons_status *status = make_point(t, g, index, scratch, &p);
    if (status == NULL) p.hash = hash_lists(&p.schedule);
    if (status == NULL && !is_known(points, *count, p.hash)) {
        status = estimate(&p, scratch, &bound);
        points[(*count)++] = p;
        t->result->refused += !p.runs;
    }
    ++t->result->made;
    ons_arena_free(scratch);
    return status;
}

static ons_status *simulate_again(tuning *t, const group *g, const point *seen) {
    point p;
    ons_arena *scratch = ons_arena_new();
    if (scratch == NULL) return ons_status_out_of_memory();
    ons_status *status = make_point(t, g, seen->index, scratch, &p);
    p.estimate = seen->estimate;
    p.bytes = seen->bytes;
    if (status == NULL) status = simulate_point(t, g, &p);
    ons_arena_free(scratch);
    return status;
}

/* What does not fit is of interest where nothing does, and then by what it needs. */
static const point *emptiest(const point *points, uint32_t count) {
    const point *found = &points[0];
    for (uint32_t i = 1; i < count; ++i)
        if (points[i].runs && (!found->runs || points[i].bytes < found->bytes)) found = &points[i];
    return found;
}

/* Takes points by rising estimate. Where stages are a chain the estimate is never above the simulation, so the first
 * one that is no faster than what is known ends the group. Where nothing fits, the point that needs least memory is
 * simulated, so that there is something to report. */
static ons_status *try_group(tuning *t, const group *g) {
    uint32_t types = ons_flexpipe_types(&t->tuner->space, g->placement), count = 0, fitting = 0;
    point *points = calloc(types, sizeof *points);
    ons_status *status = points == NULL ? ons_status_out_of_memory() : NULL;
    for (uint32_t i = 0; i < types && status == NULL; ++i) status = look_at(t, g, i, points, &count);
    t->result->different += count;
    if (count > 0) qsort(points, count, sizeof *points, by_estimate);
    for (uint32_t i = 0; i < count && status == NULL; ++i) {
        if (!points[i].runs || !fits(t, points[i].bytes)) continue;
        ++fitting;
        if (points[i].estimate + g->exchange >= to_beat(t, g)) break;
        status = simulate_again(t, g, &points[i]);
    }
    const point *last = count > 0 ? emptiest(points, count) : NULL;
    bool wanted = status == NULL && fitting == 0 && isinf(to_beat(t, g)) && last != NULL && last->runs;
    if (wanted) status = simulate_again(t, g, last);
    free(points);
    return status;
}

/* Simulates every point, without the shortcuts of try_group, to measure what these leave out. */
static ons_status *try_every_point(tuning *t, const group *g) {
    uint32_t types = ons_flexpipe_types(&t->tuner->space, g->placement);
    for (uint32_t i = 0; i < types; ++i) {
        double bound;
        point p;
        ons_arena *scratch = ons_arena_new();
        if (scratch == NULL) return ons_status_out_of_memory();
        ons_status *status = make_point(t, g, i, scratch, &p);
        if (status == NULL) status = estimate(&p, scratch, &bound);
        if (status == NULL && p.runs) status = simulate_point(t, g, &p);
        ++t->result->made;
        ons_arena_free(scratch);
        ONS_TRY(status);
    }
    return NULL;
}

/* ----------------------------------------------------------------------------------------------------------- groups */

/* Every copy sends and receives its share of a ring's sum, twice (Megatron's data parallelism). */
static double exchange_seconds(const tuning *t, const group *g) {
    double bytes = 0, share = 2.0 * (g->sizes.copies - 1) / g->sizes.copies;
    if (g->sizes.copies == 1 || t->problem->link_bandwidth <= 0) return 0;
    for (uint32_t i = 0; i < g->work->weight_count; ++i) bytes += (double)g->work->weights[i].gradient_bytes;
    return share * bytes / g->sizes.devices / t->problem->link_bandwidth;
}

/* Any schedule of the group will do: the bound is that of sizes, placement and cuts, which all of them share. */
static ons_status *find_bound(const tuning *t, group *g) {
    point p;
    ons_arena *scratch = ons_arena_new();
    if (scratch == NULL) return ons_status_out_of_memory();
    ons_status *status = make_point(t, g, 0, scratch, &p);
    if (status == NULL) status = estimate(&p, scratch, &g->bound);
    g->exchange = exchange_seconds(t, g);
    g->bound += g->exchange;
    ons_arena_free(scratch);
    return status;
}

/* A model of fewer nodes than stages, or a V where devices hold one stage, is not in the space. */
static bool exists(const tuning *t, const group *g) {
    return ons_flexpipe_stages(&t->tuner->space, g->placement, g->sizes.devices) <= g->work->node_count;
}

static ons_status *make_groups(tuning *t, ons_arena *arena, group **groups, uint32_t *count) {
    ons_flexpipe_sizes *list;
    uint32_t list_count;
    ONS_TRY(ons_flexpipe_list_sizes(&t->tuner->space, arena, &list, &list_count));
    ONS_NEW(*groups, arena, (size_t)list_count * ONS_PLACEMENTS);
    *count = 0;
    for (uint32_t i = 0; i < list_count; ++i)
        for (uint32_t placement = 0; placement < ONS_PLACEMENTS; ++placement) {
            group *g = &(*groups)[*count];
            *g = (group){.sizes = list[i], .placement = (ons_placement)placement};
            ONS_TRY(t->tuner->works.find(t->tuner->works.context, g->sizes.samples, &g->work));
            t->result->points += ons_flexpipe_types(&t->tuner->space, g->placement);
            if (!exists(t, g)) continue;
            ONS_TRY(find_bound(t, g));
            ++*count;
        }
    return NULL;
}

static int by_bound(const void *left, const void *right) {
    const group *a = left, *b = right;
    if (a->bound != b->bound) return a->bound < b->bound ? -1 : 1;
    if (a->placement != b->placement) return a->placement < b->placement ? -1 : 1;
    return a->sizes.samples < b->sizes.samples ? -1 : a->sizes.samples > b->sizes.samples;
}

/* Takes groups by rising bound: the sooner a fast step is known, the more groups are left out unseen. */
static ons_status *try_groups(tuning *t, ons_arena *arena) {
    group *groups;
    uint32_t count;
    ONS_TRY(make_groups(t, arena, &groups, &count));
    ONS_CHECK(count > 0, ONS_INVALID_ARGUMENT, "the model has fewer nodes than %u devices need stages; take fewer",
              t->tuner->space.least_devices);
    qsort(groups, count, sizeof *groups, by_bound);
    for (uint32_t i = 0; i < count; ++i) {
        if (t->tuner->exhaustive)
            ONS_TRY(try_every_point(t, &groups[i]));
        else if (groups[i].bound < to_beat(t, &groups[i]))
            ONS_TRY(try_group(t, &groups[i]));
    }
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------- separating */

/* Finds the seconds of a stage's three parts for a micro-batch, which is what separating gradients goes by. */
static ons_status *find_times(const ons_flexpipe_found *x, ons_arena *arena, ons_stage_times **times) {
    ONS_NEW(*times, arena, x->schedule->stages);
    for (uint32_t i = 0; i < x->schedule->stages; ++i) {
        double weight = ons_work_weight_seconds(x->work, x->first[i], x->first[i + 1]);
        (*times)[i] =
            (ons_stage_times){.forward = ons_work_forward_seconds(x->work, x->first[i], x->first[i + 1]),
                              .input = ons_work_backward_seconds(x->work, x->first[i], x->first[i + 1]) - weight,
                              .weight = weight};
    }
    return NULL;
}

/* With as many micro-batches in flight as the fullest stage has; or, where that does not fit, as each has. */
static ons_status *separate(const tuning *t, const ons_flexpipe_found *x, bool fuller, ons_flexpipe_found *apart) {
    ons_stage_times *times;
    uint32_t *in_flight;
    int64_t *bytes;
    bool runs;
    ons_planning_problem p = *t->problem;
    *apart = *x;
    apart->separated = true;
    ONS_TRY(find_times(x, t->arena, &times));
    ONS_NEW(in_flight, t->arena, x->schedule->stages);
    ONS_NEW(bytes, t->arena, x->schedule->devices);
    ONS_NEW(apart->schedule, t->arena, 1);
    for (uint32_t i = 0; i < x->schedule->stages; ++i) in_flight[i] = x->schedule->loads[i].in_flight;
    ONS_TRY(ons_schedule_separate(x->schedule, times, fuller ? NULL : in_flight, t->arena, apart->schedule));
    ONS_TRY(ons_schedule_put_updates_last(apart->schedule, t->arena));
    ONS_TRY(ons_schedule_can_run(apart->schedule, &runs));
    p.work = x->work;
    p.pipeline = x->pipeline;
    p.schedule = apart->schedule;
    ONS_TRY(ons_generator_of_lists(apart->schedule, "flexpipe", t->arena, &p.pipeline.generator));
    apart->pipeline = p.pipeline;
    apart->bytes = ons_cuts_bytes(&p, x->first, bytes);
    ONS_TRY(simulate(&p, apart));
    apart->feasible = runs && isfinite(apart->step_seconds) && fits(t, apart->bytes);
    return NULL;
}

static ons_status *separate_best(tuning *t, ons_flexpipe_found *of) {
    const group g = {.sizes = of->sizes, .work = of->work};
    ons_flexpipe_found apart;
    ONS_TRY(separate(t, of, true, &apart));
    if (!apart.feasible) ONS_TRY(separate(t, of, false, &apart));
    apart.step_seconds += exchange_seconds(t, &g);
    if (apart.feasible && is_better(&apart, of)) *of = apart;
    if (is_better(of, &t->result->best)) t->result->best = *of;
    return NULL;
}

/* Of three placements, the slowest: taking apart what is slow already takes longest, and seldom makes it the best. */
static bool is_slowest(const ons_flexpipe_tuning *r, uint32_t placement) {
    for (uint32_t i = 0; i < ONS_PLACEMENTS; ++i) {
        const ons_flexpipe_found *x = &r->of[i];
        if (x->schedule == NULL || !x->feasible) return false;
        if (i != placement && x->step_seconds > r->of[placement].step_seconds) return false;
    }
    return true;
}

static ons_status *separate_all(tuning *t) {
    ons_flexpipe_tuning whole = *t->result;
    for (uint32_t i = 0; i < ONS_PLACEMENTS; ++i) {
        bool good = whole.of[i].schedule != NULL && whole.of[i].feasible && !is_slowest(&whole, i);
        if (good) ONS_TRY(separate_best(t, &t->result->of[i]));
    }
    return NULL;
}

ons_status *ons_flexpipe_tune(const ons_planning_problem *problem, const ons_flexpipe_tuner *tuner, ons_arena *arena,
                              ons_flexpipe_tuning *result) {
    tuning t = {problem, tuner, arena, result};
    *result = (ons_flexpipe_tuning){0};
    ons_arena *scratch = ons_arena_new();
    if (scratch == NULL) return ons_status_out_of_memory();
    ons_status *status = try_groups(&t, scratch);
    ons_arena_free(scratch);
    ONS_TRY(status);
    ONS_CHECK(result->best.schedule != NULL, ONS_INVALID_ARGUMENT,
              "no schedule of up to %u devices can run: with all of them devices wait for each other; take another "
              "--batch",
              tuner->space.most_devices);
    return tuner->separate ? separate_all(&t) : NULL;
}
