#include "planner/search/portfolio.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "planner/partition/beam.h"
#include "planner/partition/devices.h"
#include "planner/search/candidates.h"
#include "planner/simulate/pipeline_simulation.h"

static const double EQUAL = 1e-9; /* steps that differ by less, relatively, are as fast */
/* By how much an estimate without a cap, and with links that are free, may be above what planning finds: a beam does
 * not always hold the best cuts. */
static const double ESTIMATE_ERROR = 0.02;

typedef struct searching {
    const ons_planning_problem *problem;
    const ons_portfolio_options *options;
    ons_arena *arena;
    ons_portfolio *result;
} searching;

/* --------------------------------------------------------------------------------------------------------- planning */

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

/* All stages of a device, as planned. */
static ons_status *fullest_device(const searching *s, const ons_planned *planned, int64_t *fullest) {
    int64_t *bytes;
    *fullest = 0;
    ONS_TRY(ons_planned_sum_devices(planned, s->arena, &bytes));
    for (uint32_t i = 0; i < planned->problem.schedule->devices; ++i)
        *fullest = larger(*fullest, ons_device_demand(&planned->problem, i, bytes[i]));
    return NULL;
}

/* Whether some cuts fit with all tensors kept; else c->memory_bytes is what the best ones need. */
static ons_status *fits_as_it_is(const searching *s, ons_portfolio_candidate *c, bool *fits) {
    const ons_beam_options options = {.part_seconds = 0};
    ons_planning_problem p = *s->problem;
    ons_beam_split split;
    p.pipeline = c->pipeline;
    p.schedule = c->schedule;
    ONS_TRY(ons_beam_search(&p, &options, s->arena, &split));
    *fits = split.over_bytes == 0;
    c->memory_bytes = s->problem->capacity_bytes + split.over_bytes;
    return NULL;
}

/* Where weight gradients are apart, swap and recompute gain little, as what comes back stays until these are made; such
 * plans must fit as they are. */
static ons_status *plan(const searching *s, ons_portfolio_candidate *c, bool *fits) {
    int64_t capacity = s->problem->capacity_bytes;
    ons_planning_problem p = *s->problem;
    if (c->schedule->loads[0].apart && capacity > 0) {
        ONS_TRY(fits_as_it_is(s, c, fits));
        if (!*fits) return NULL;
    }
    p.pipeline = c->pipeline;
    p.schedule = c->schedule;
    ONS_TRY(ons_planner_search(&p, ons_partition_strategy_find(c->strategy), s->arena, &c->planned));
    c->memory_bytes = c->planned.partition.least_bytes;
    if (c->planned.partition.feasible) ONS_TRY(fullest_device(s, &c->planned, &c->memory_bytes));
    *fits = c->planned.partition.feasible && (capacity == 0 || c->memory_bytes <= capacity);
    return NULL;
}

/* What the simulator sees on a device at any time counts, too: messages wait in other places than the plan's stages. */
static ons_status *simulate(ons_portfolio_candidate *c) {
    const ons_planned *planned = &c->planned;
    ons_pipeline_setup setup = {
        .problem = &planned->problem, .first = planned->partition.first, .solutions = planned->solutions};
    ons_pipeline_forecast f;
    ons_arena *scratch = ons_arena_new();
    if (scratch == NULL) return ons_status_out_of_memory();
    ons_status *status = ons_pipeline_simulate(&setup, scratch, &f);
    if (status == NULL) {
        c->step_seconds = f.iteration_seconds;
        for (uint32_t i = 0; i < f.device_count; ++i) {
            c->bubble_share += f.devices[i].bubble_share / f.device_count;
            c->memory_bytes = larger(c->memory_bytes, ons_device_demand(&planned->problem, i, f.devices[i].peak_bytes));
        }
        ons_simulation_free(f.simulation);
    }
    ons_arena_free(scratch);
    return status;
}

/* --------------------------------------------------------------------------------------------------------- outcomes */

static ons_status *set_outcome(const searching *s, ons_portfolio_candidate *c, ons_candidate_outcome outcome,
                               const char *why) {
    c->outcome = outcome;
    c->why = why;
    return why == NULL ? ons_status_out_of_memory() : NULL;
}

static ons_status *say_too_large(const searching *s, ons_portfolio_candidate *c, int64_t capacity) {
    char need[ONS_BYTES_TEXT], have[ONS_BYTES_TEXT];
    return set_outcome(s, c, ONS_TOO_LARGE,
                       ons_arena_format(s->arena, "needs %s a device, of which there are %s",
                                        ons_bytes_print((double)c->memory_bytes, need),
                                        ons_bytes_print((double)capacity, have)));
}

static ons_status *plan_and_simulate(const searching *s, ons_portfolio_candidate *c, bool *fits) {
    *fits = false;
    int64_t capacity = s->problem->capacity_bytes;
    ONS_TRY(plan(s, c, fits));
    if (!*fits) return NULL;
    ONS_TRY(simulate(c));
    *fits = capacity == 0 || c->memory_bytes <= capacity;
    if (!*fits) c->step_seconds = INFINITY;
    return NULL;
}

static ons_status *look_closely(const searching *s, ons_portfolio_candidate *c) {
    bool fits;
    double began = ons_clock_seconds();
    ons_status *status = plan_and_simulate(s, c, &fits);
    c->planning_seconds = ons_clock_seconds() - began;
    int code = status == NULL ? ONS_OK : ons_status_get_code(status);
    if (code == ONS_INVALID_ARGUMENT || code == ONS_INVALID_DATA) {
        ons_status *said =
            set_outcome(s, c, ONS_IMPOSSIBLE, ons_arena_format(s->arena, "%s", ons_status_get_message(status)));
        ons_status_free(status);
        return said;
    }
    ONS_TRY(status);
    return fits ? NULL : say_too_large(s, c, s->problem->capacity_bytes);
}

static bool is_better(const ons_portfolio_candidate *a, const ons_portfolio_candidate *b) {
    if (fabs(a->step_seconds - b->step_seconds) > EQUAL * b->step_seconds) return a->step_seconds < b->step_seconds;
    return a->memory_bytes < b->memory_bytes;
}

static ons_status *say_slower(const searching *s, ons_portfolio_candidate *c) {
    const ons_portfolio_candidate *best = &s->result->candidates[s->result->taken];
    double times = c->step_seconds / best->step_seconds;
    const char *why = times > 1 + EQUAL
                          ? ons_arena_format(s->arena, "a step takes %.3f times as long as the fastest", times)
                          : "as fast as the fastest, in no less memory";
    return set_outcome(s, c, ONS_SLOWER, why);
}

static ons_status *say_hopeless(const searching *s, ons_portfolio_candidate *c) {
    const ons_portfolio_candidate *best = &s->result->candidates[s->result->taken];
    return set_outcome(s, c, ONS_HOPELESS,
                       ons_arena_format(s->arena, "not planned: estimated at %.3f times the fastest",
                                        c->estimate / best->step_seconds));
}

/* ----------------------------------------------------------------------------------------------------------- search */

/* The next by rising estimate; the first candidate comes first. */
static ons_portfolio_candidate *next(const searching *s, const bool *seen) {
    ons_portfolio *r = s->result;
    ons_portfolio_candidate *found = NULL;
    for (uint32_t i = 0; i < r->count; ++i) {
        ons_portfolio_candidate *c = &r->candidates[i];
        if (seen[i] || c->schedule == NULL || c->outcome == ONS_REPEATED) continue;
        if (i == 0) return c;
        if (found == NULL || c->estimate < found->estimate) found = c;
    }
    return found;
}

/* Whether it is plain without planning that it is no faster than the best. */
static bool is_hopeless(const searching *s, const ons_portfolio_candidate *c) {
    const ons_portfolio *r = s->result;
    return r->taken < r->count && c->estimate * (1 - ESTIMATE_ERROR) >= r->candidates[r->taken].step_seconds;
}

static ons_status *try_candidates(searching *s) {
    ons_portfolio *r = s->result;
    bool *seen;
    ONS_NEW(seen, s->arena, r->count);
    for (ons_portfolio_candidate *c = next(s, seen); c != NULL; c = next(s, seen)) {
        uint32_t index = (uint32_t)(c - r->candidates);
        const ons_portfolio_candidate *best = r->taken < r->count ? &r->candidates[r->taken] : NULL;
        seen[index] = true;
        if (is_hopeless(s, c)) continue;
        ONS_TRY(look_closely(s, c));
        if (isfinite(c->step_seconds) && (best == NULL || is_better(c, best))) r->taken = index;
    }
    return NULL;
}

static bool depends_on_others(const ons_portfolio_candidate *c) {
    return c->why == NULL || c->outcome == ONS_TAKEN || c->outcome == ONS_SLOWER || c->outcome == ONS_HOPELESS;
}

static ons_status *say_why(const searching *s) {
    ons_portfolio *r = s->result;
    for (uint32_t i = 0; i < r->count; ++i) {
        ons_portfolio_candidate *c = &r->candidates[i];
        if (!depends_on_others(c)) continue;
        if (i == r->taken)
            ONS_TRY(set_outcome(s, c, ONS_TAKEN, "the fastest step"));
        else
            ONS_TRY(isfinite(c->step_seconds) ? say_slower(s, c) : say_hopeless(s, c));
    }
    return NULL;
}

ons_status *ons_portfolio_search(const ons_planning_problem *problem, const ons_portfolio_options *options,
                                 ons_arena *arena, ons_portfolio *portfolio) {
    double began = ons_clock_seconds();
    searching s = {problem, options, arena, portfolio};
    *portfolio = (ons_portfolio){0};
    ONS_TRY(ons_portfolio_list(problem, options, arena, &portfolio->candidates, &portfolio->count));
    portfolio->taken = portfolio->count;
    ONS_TRY(try_candidates(&s));
    ONS_TRY(say_why(&s));
    portfolio->seconds = ons_clock_seconds() - began;
    return NULL;
}

/* -------------------------------------------------------------------------------------------------- what came of it */

const ons_generator *ons_portfolio_first(uint32_t stages, uint32_t devices) {
    return devices > 0 && stages > devices ? &ons_generator_interleaved : &ons_generator_one_f_one_b;
}

ons_status *ons_portfolio_rank(const ons_portfolio *portfolio, ons_arena *arena, uint32_t **order, uint32_t *count) {
    ONS_NEW(*order, arena, portfolio->count + 1);
    *count = 0;
    for (uint32_t i = 0; i < portfolio->count; ++i) {
        uint32_t at = *count;
        if (!isfinite(portfolio->candidates[i].step_seconds)) continue;
        for (; at > 0 && is_better(&portfolio->candidates[i], &portfolio->candidates[(*order)[at - 1]]); --at)
            (*order)[at] = (*order)[at - 1];
        (*order)[at] = i;
        ++*count;
    }
    if (!isfinite(portfolio->candidates[0].step_seconds)) (*order)[(*count)++] = 0;
    return NULL;
}

ons_status *ons_portfolio_exclude(ons_portfolio *portfolio, uint32_t candidate, int64_t memory_bytes,
                                  int64_t capacity_bytes, ons_arena *arena) {
    const searching s = {.arena = arena, .result = portfolio};
    ons_portfolio_candidate *c = &portfolio->candidates[candidate];
    c->step_seconds = INFINITY;
    c->memory_bytes = memory_bytes;
    return say_too_large(&s, c, capacity_bytes);
}

ons_status *ons_portfolio_take(ons_portfolio *portfolio, uint32_t candidate, ons_arena *arena) {
    const searching s = {.arena = arena, .result = portfolio};
    portfolio->taken = candidate;
    return candidate < portfolio->count ? say_why(&s) : NULL;
}
