#include "engine/plan/processor_choice.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "device/device.h"
#include "engine/config/profile_list.h"
#include "engine/model/batching.h"
#include "engine/model/results.h"
#include "engine/plan/plan_trials.h"
#include "engine/plan/planning.h"

/* One way to divide the processors. */
typedef struct division {
    const char *profile; /* a file */
    int64_t threads;     /* that it was measured with: of each device */
    int64_t devices;     /* for which there are processors; 0: the threads do not divide them */
    int64_t stages;
    ons_trial trial;
} division;

typedef struct search {
    const char *path;
    const ons_config *config;
    ons_arena *arena;
    int64_t processors, batch;
    division *items;
    uint32_t count;
    ons_trials trials; /* in the order of items */
} search;

/* --------------------------------------------------------------------------------------------------------- profiles */

static ons_status *read_division(const search *s, const char *profile, division *d) {
    ons_node_costs costs;
    ONS_TRY(ons_check_output("out", s->config->out, "--profile", profile));
    ONS_TRY(ons_check_output("report", s->config->report, "--profile", profile));
    ONS_TRY_AT(ons_node_costs_load(profile, s->arena, &costs), "--profile");
    ONS_CHECK(costs.device.processor && costs.threads > 0, ONS_INVALID_ARGUMENT,
              "--profile %s: it was measured on %s, and several files are for dividing the processors of this machine; "
              "leave it out, or name it alone",
              profile, costs.device.title);
    *d = (division){.profile = profile, .threads = costs.threads};
    if (s->processors % d->threads == 0) d->devices = s->processors / d->threads;
    d->stages = ons_config_stages_on(s->config, d->devices);
    return NULL;
}

/* Few stages first, and what does not divide the processors last. */
static int by_devices(const void *left, const void *right) {
    const division *a = left, *b = right;
    if ((a->devices == 0) != (b->devices == 0)) return a->devices == 0 ? 1 : -1;
    return (a->threads < b->threads) - (a->threads > b->threads);
}

static ons_status *check_divisions(const search *s) {
    for (uint32_t i = 1; i < s->count; ++i)
        ONS_CHECK(s->items[i].threads != s->items[i - 1].threads, ONS_INVALID_ARGUMENT,
                  "--profile: %s and %s were both measured with %" PRId64 " thread%s; name one of them",
                  s->items[i - 1].profile, s->items[i].profile, s->items[i].threads,
                  s->items[i].threads == 1 ? "" : "s");
    ONS_CHECK(s->items[0].devices > 0, ONS_INVALID_ARGUMENT,
              "--profile %s: none was measured with a number of threads that divides the %" PRId64
              " processor%s here; measure with onstage profile --stages S, for numbers of stages that divide them",
              s->config->profile, s->processors, s->processors == 1 ? "" : "s");
    return NULL;
}

static ons_status *list_divisions(search *s) {
    const char **files;
    ONS_TRY(ons_profile_list_find(s->config, s->arena, &files, &s->count));
    ONS_NEW(s->items, s->arena, s->count);
    for (uint32_t i = 0; i < s->count; ++i) ONS_TRY(read_division(s, files[i], &s->items[i]));
    qsort(s->items, s->count, sizeof *s->items, by_devices);
    return check_divisions(s);
}

/* Where nobody says it, a batch grows with the stages of a model that was exported for a fixed one: steps of different
 * batches would be compared, and a run would depend on what was chosen. */
static ons_status *find_batch(search *s) {
    ons_model *model;
    ons_batching batching;
    s->batch = s->config->batch;
    if (s->batch > 0) return NULL;
    ONS_CHECK(s->path != NULL, ONS_INVALID_ARGUMENT, "which model? Give MODEL.onnx");
    ONS_TRY(ons_model_open(s->path, s->config, true, NULL, &model));
    ons_status *status = ons_choose_batching(model, s->config, &batching);
    ons_model_free(model);
    if (status == NULL) s->batch = batching.batch;
    return status;
}

/* --------------------------------------------------------------------------------------------------------- planning */

/* The configuration that gives the way; freed by the caller, also where this fails. */
static ons_status *make_config(const search *s, const division *d, ons_config **config) {
    ONS_TRY(ons_config_copy(s->config, config));
    ONS_TRY(ons_config_set(*config, "profile", d->profile));
    ONS_TRY(ons_config_set_count(*config, "batch", s->batch));
    ONS_TRY(ons_config_set_count(*config, "threads", d->threads));
    ONS_TRY(ons_config_set_count(*config, "stages", d->stages));
    if (ons_config_devices(*config) == d->devices) return NULL;
    return ons_config_set_count(*config, "devices", d->devices);
}

static ons_status *plan(const search *s, const division *d, ons_planning **planning) {
    ons_config *config = NULL;
    ONS_CHECK(d->devices > 0, ONS_INVALID_ARGUMENT, "so many do not divide %" PRId64 " processor%s", s->processors,
              s->processors == 1 ? "" : "s");
    ons_status *status = make_config(s, d, &config);
    if (status == NULL) status = ons_planning_make(s->path, config, planning);
    ons_config_free(config);
    return status;
}

/* Times of which most are estimates are not fit to be compared: a way would win by what was not measured of it. */
static ons_status *check_measured(const division *d, const ons_planning *p) {
    const ons_node_costs_use *use = &p->input.costs.measured;
    ONS_CHECK(use->measured >= use->analytic, ONS_INVALID_ARGUMENT,
              "--profile %s: it has the times of %u of the %u nodes of %s in micro-batches of %" PRId64
              ": it was measured for another model, batch or other options; measure with onstage profile --stages "
              "%" PRId64 " and what else this run is given",
              d->profile, use->measured, use->measured + use->analytic, p->model->path, p->input.stage.rows, d->stages);
    return NULL;
}

static ons_status *try_division(search *s, division *d) {
    ons_planning *p = NULL;
    ons_status *status = plan(s, d, &p);
    ons_status *foreign = p == NULL ? NULL : check_measured(d, p);
    if (status == NULL) d->stages = p->plan.pipeline.stages; /* --pipeline auto may have taken more */
    if (foreign == NULL) return ons_trials_add(&s->trials, p, status, &d->trial);
    ons_planning_free(p);
    ons_status_free(status);
    return foreign;
}

/* ---------------------------------------------------------------------------------------------------------- telling */

static const char *name_division(const search *s, const division *d) {
    char stages[ONS_STAGES_TEXT];
    if (d->devices == 0)
        return ons_arena_format(s->arena, "stages of %" PRId64 " thread%s", d->threads, d->threads == 1 ? "" : "s");
    ons_stages_print((uint32_t)d->stages, (uint32_t)d->devices, stages);
    return ons_arena_format(s->arena, "%s of %" PRId64 " thread%s", stages, d->threads, d->threads == 1 ? "" : "s");
}

/* "1 stage of 2 threads: 70.1 ms a step by simulation; 2 stages of 1 thread: 78.3 ms" */
static ons_status *tell(const search *s, ons_arena *arena, const char **text) {
    const division *taken = &s->items[s->trials.taken];
    const char *told = ons_arena_format(s->arena, "%s: %.4g ms a step by simulation", name_division(s, taken),
                                        1e3 * taken->trial.step_seconds);
    for (const division *d = s->items; d < s->items + s->count; ++d) {
        const ons_trial *t = &d->trial;
        const char *name = name_division(s, d);
        if (d == taken) continue;
        if (t->why != NULL)
            told = ons_arena_format(s->arena, "%s; %s: not possible, %s", told, name, t->why);
        else if (!isfinite(t->step_seconds))
            told = ons_arena_format(s->arena, "%s; %s: does not fit", told, name);
        else
            told = ons_arena_format(s->arena, "%s; %s: %.4g ms", told, name, 1e3 * t->step_seconds);
    }
    ONS_TRY(ons_arena_check(s->arena));
    *text = ons_arena_copy_text(arena, told);
    return *text == NULL ? ons_status_out_of_memory() : NULL;
}

/* "--profile a.json,b.json: no way to divide 2 processors fits; the nearest, 2 stages of 1 thread: no plan fits …" */
static ons_status *name_failure(const search *s, ons_status *failure) {
    const division *d = &s->items[s->trials.taken];
    if (failure == NULL || d->trial.memory_bytes == 0) return failure;
    const char *name = name_division(s, d);
    return ons_status_at(failure, "--profile %s: no way to divide %" PRId64 " processor%s fits; the nearest, %s",
                         s->config->profile, s->processors, s->processors == 1 ? "" : "s", name == NULL ? "" : name);
}

static ons_status *find(search *s) {
    ONS_TRY(list_divisions(s));
    ONS_TRY(find_batch(s));
    for (uint32_t i = 0; i < s->count; ++i) ONS_TRY(try_division(s, &s->items[i]));
    ons_planning *p = s->trials.planning;
    return s->trials.failure != NULL ? NULL : tell(s, p->arena, &p->division);
}

ons_status *ons_processor_choice_plan(const char *path, const ons_config *config, ons_planning **planning) {
    search s = {.path = path, .config = config, .arena = ons_arena_new(), .processors = ons_cpu_count()};
    *planning = NULL;
    if (s.arena == NULL) return ons_status_out_of_memory();
    s.trials.arena = s.arena;
    ons_status *status = find(&s);
    if (status == NULL) {
        *planning = s.trials.planning;
        status = name_failure(&s, s.trials.failure);
        s.trials.planning = NULL;
        s.trials.failure = NULL;
    }
    ons_trials_free(&s.trials);
    ons_arena_free(s.arena);
    return status;
}
