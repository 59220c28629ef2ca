#include "engine/plan/degree_choice.h"

#include <inttypes.h>

#include "base/clock.h"
#include "engine/config/device_list.h"
#include "engine/plan/planning.h"

enum { DEVICES_MOST = 65536 };

typedef struct search {
    const char *path;
    const ons_config *config;
    ons_arena *arena;
    ons_degree_choice choice;
    ons_trials trials; /* in the order of choice.items */
} search;

/* --------------------------------------------------------------------------------------------------------- checking */

static ons_status *check(const ons_config *c) {
    ONS_CHECK(c->schedule == NULL, ONS_INVALID_ARGUMENT,
              "--replicas auto beside --schedule %s, which says stages and micro-batches: give the number of replicas",
              c->schedule);
    ONS_CHECK(
        !ons_device_list_is_given(c), ONS_UNSUPPORTED,
        "--replicas auto beside --device-profile %s: the devices that are shared are alike; name one, or give the "
        "number of replicas",
        c->device_profile);
    ONS_CHECK(
        c->stage_replicas.value != ONS_STAGES_FREE, ONS_UNSUPPORTED,
        "--replicas auto beside --stage-replicas free: replicas are of the whole pipeline or of its stages; leave "
        "one of them out");
    ONS_CHECK(!ons_config_is_asynchronous(c), ONS_UNSUPPORTED,
              "--replicas auto: an asynchronous pipeline has no moment at which all gradients are there; take "
              "--pipeline 1f1b");
    ONS_CHECK(c->devices > 0, ONS_INVALID_ARGUMENT,
              "--replicas auto: how many devices are there in all? Give --devices D, or the number of replicas");
    ONS_CHECK(c->devices <= DEVICES_MOST, ONS_INVALID_ARGUMENT, "--devices %" PRId64 ": more than %d are not possible",
              c->devices, DEVICES_MOST);
    return NULL;
}

/* How many devices --stages need in each replica; 0: nothing is said of them. */
static ons_status *find_devices(const ons_config *c, int64_t *devices) {
    ons_config one = *c;
    *devices = 0;
    if (!ons_config_is_given(c, "stages")) return NULL;
    one.devices = 0;
    *devices = ons_config_devices(&one);
    ONS_CHECK(c->devices % *devices == 0, ONS_INVALID_ARGUMENT,
              "--replicas auto: --devices %" PRId64 " are no multiple of the %" PRId64 " that --stages %" PRId64
              " lie on; leave --stages out, so that it is found as well, or take other --devices",
              c->devices, *devices, c->stages);
    return NULL;
}

/* --------------------------------------------------------------------------------------------------------- planning */

/* The configuration that gives the number; freed by the caller, also where this fails. */
static ons_status *make_config(const search *s, const ons_degree *degree, ons_config **config) {
    int64_t devices = s->config->devices / degree->replicas;
    ONS_TRY(ons_config_copy(s->config, config));
    ONS_TRY(ons_config_set_count(*config, "replicas", degree->replicas));
    ONS_TRY(ons_config_set_count(*config, "stages", degree->stages));
    ONS_TRY(ons_config_set_count(*config, "devices", 0));
    if (ons_config_devices(*config) != devices) ONS_TRY(ons_config_set_count(*config, "devices", devices));
    return degree->micro_batches == 0 ? NULL : ons_config_set_count(*config, "micro-batches", degree->micro_batches);
}

static ons_status *plan(const search *s, const ons_degree *degree, ons_planning **planning) {
    ons_config *config = NULL;
    int64_t micro_batches = s->config->micro_batches;
    ONS_CHECK(micro_batches % degree->replicas == 0, ONS_INVALID_ARGUMENT,
              "--micro-batches %" PRId64 " cannot be shared among %" PRId64 " replicas", micro_batches,
              degree->replicas);
    ons_status *status = make_config(s, degree, &config);
    if (status == NULL) status = ons_planning_make(s->path, config, planning);
    ons_config_free(config);
    return status;
}

static ons_status *try_degree(search *s, ons_degree *degree) {
    ons_planning *p = NULL;
    ons_status *status = plan(s, degree, &p);
    return ons_trials_add(&s->trials, p, status, &degree->trial);
}

/* ----------------------------------------------------------------------------------------------------------- search */

/* `devices`: of each replica. */
static void add(search *s, int64_t devices) {
    const ons_config *c = s->config;
    int64_t replicas = c->devices / devices;
    s->choice.items[s->choice.count++] = (ons_degree){
        .replicas = replicas,
        .stages = ons_config_is_given(c, "stages") ? c->stages : ons_config_stages_on(c, devices),
        .micro_batches = c->micro_batches / replicas,
    };
}

static ons_status *list_degrees(search *s) {
    const ons_config *c = s->config;
    int64_t own, count = 0;
    ONS_TRY(check(c));
    ONS_TRY(find_devices(c, &own));
    for (int64_t i = 1; i <= c->devices; ++i) count += c->devices % i == 0;
    ONS_NEW(s->choice.items, s->arena, (size_t)count);
    s->choice.devices = c->devices;
    for (int64_t devices = 1; devices <= c->devices; ++devices)
        if (c->devices % devices == 0 && (own == 0 || own == devices)) add(s, devices);
    return NULL;
}

static ons_status *find(search *s) {
    double start = ons_clock_seconds();
    ONS_TRY(list_degrees(s));
    for (uint32_t i = 0; i < s->choice.count; ++i) ONS_TRY(try_degree(s, &s->choice.items[i]));
    s->choice.taken = s->trials.taken;
    s->choice.seconds = ons_clock_seconds() - start;
    return NULL;
}

/* Into the planning's own arena, which outlives the search. */
static ons_status *keep(const search *s) {
    ons_planning *p = s->trials.planning;
    ons_degree_choice *choice = &p->degrees;
    *choice = s->choice;
    ONS_NEW(choice->items, p->arena, choice->count);
    for (uint32_t i = 0; i < choice->count; ++i) {
        const char *why = s->choice.items[i].trial.why;
        choice->items[i] = s->choice.items[i];
        if (why == NULL) continue;
        choice->items[i].trial.why = ons_arena_copy_text(p->arena, why);
        if (choice->items[i].trial.why == NULL) return ons_status_out_of_memory();
    }
    return NULL;
}

/* "--replicas auto: no way to share 8 devices fits; nearest are 8 stages in 1 replica: no plan fits …" */
static ons_status *name_failure(const search *s, ons_status *failure) {
    const ons_degree *d = &s->choice.items[s->choice.taken];
    if (failure == NULL || s->choice.count == 1 || d->trial.memory_bytes == 0) return failure;
    return ons_status_at(failure,
                         "--replicas auto: no way to share %" PRId64 " devices fits; the nearest, %" PRId64
                         " stage%s in %" PRId64 " replica%s",
                         s->choice.devices, d->stages, d->stages == 1 ? "" : "s", d->replicas,
                         d->replicas == 1 ? "" : "s");
}

ons_status *ons_degree_choice_plan(const char *path, const ons_config *config, ons_planning **planning) {
    search s = {.path = path, .config = config, .arena = ons_arena_new()};
    *planning = NULL;
    if (s.arena == NULL) return ons_status_out_of_memory();
    s.trials.arena = s.arena;
    ons_status *status = find(&s);
    if (status == NULL && s.trials.planning != NULL) status = keep(&s);
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
