#include "planner/schedule/flexpipe.h"

#include "planner/schedule/rounds.h"
#include "planner/schedule/writer.h"

typedef enum part_type { FORWARD, BACKWARD, TYPES } part_type;
enum { NONE = UINT32_MAX };

/* Whose turn it is where a stage priority has an interval. */
typedef struct turn {
    uint32_t at;  /* among the device's stages; NONE: not begun */
    uint32_t run; /* parts of that stage since its turn began */
} turn;

typedef struct device_state {
    uint32_t *stages, count; /* ascending */
    uint32_t places;         /* taken by micro-batches in flight */
    turn turns[TYPES];
    part_type last; /* what it did last, */
    uint32_t run;   /* so many times */
} device_state;

/* The pool. Of each stage and type the micro-batches come in ascending order, so a count says which are left. */
typedef struct scheduler {
    const ons_pipeline *p;
    const ons_flexpipe_options *options;
    device_state *devices;
    uint32_t *done[TYPES]; /* [stage] */
    uint32_t *seen[TYPES]; /* [stage]: done in the steps before */
    ons_action_list *lists;
} scheduler;

/* ---------------------------------------------------------------------------------------------------------- placing */

/* Over the devices again and again, each time from the first one or, in a V, back from the last one. */
static void place_stages(scheduler *s) {
    uint32_t at = 0, devices = s->p->devices;
    bool back = false;
    for (uint32_t stage = 0; stage < s->p->stages; ++stage) {
        device_state *d = &s->devices[back ? devices - 1 - at : at];
        d->stages[d->count++] = stage;
        if (++at < devices) continue;
        at = 0;
        back = s->options->placement == ONS_PLACEMENT_V && !back;
    }
}

static ons_status *place_all(scheduler *s, ons_arena *arena) {
    ONS_NEW(s->devices, arena, s->p->devices);
    for (uint32_t i = 0; i < s->p->devices; ++i) {
        ONS_NEW(s->devices[i].stages, arena, s->p->stages / s->p->devices);
        for (uint32_t type = 0; type < TYPES; ++type) s->devices[i].turns[type].at = NONE;
    }
    place_stages(s);
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------------ ready */

/* With one place kept for each later stage of the device, the oldest micro-batch can always go on. */
static bool has_place(const scheduler *s, uint32_t device, uint32_t at) {
    const device_state *d = &s->devices[device];
    const ons_flexpipe_options *o = s->options;
    uint32_t stage = d->stages[at], held = s->done[FORWARD][stage] - s->done[BACKWARD][stage];
    if (o->stage_limits != NULL && held >= o->stage_limits[stage]) return false;
    return o->device_limits == NULL || d->places + (d->count - at) <= o->device_limits[device];
}

/* Looks at what was done in earlier steps alone: of what another device does in this step the device hears in the next.
 */
static bool is_ready(const scheduler *s, part_type type, uint32_t device, uint32_t at) {
    uint32_t stage = s->devices[device].stages[at], next = s->done[type][stage];
    if (next >= s->p->micro_batches) return false;
    if (type == FORWARD) return (stage == 0 || s->seen[FORWARD][stage - 1] > next) && has_place(s, device, at);
    return s->seen[FORWARD][stage] > next && (stage + 1 == s->p->stages || s->seen[BACKWARD][stage + 1] > next);
}

/* --------------------------------------------------------------------------------------------------------- choosing */

static const ons_stage_priority *priority(const scheduler *s, part_type type) {
    return type == FORWARD ? &s->options->forward : &s->options->backward;
}

/* The first stage, in the priority's direction, that is ready. */
static uint32_t first_ready(const scheduler *s, part_type type, uint32_t device) {
    uint32_t count = s->devices[device].count;
    for (uint32_t i = 0; i < count; ++i) {
        uint32_t at = priority(s, type)->depth_first ? count - 1 - i : i;
        if (is_ready(s, type, device, at)) return at;
    }
    return NONE;
}

static bool is_used_up(const scheduler *s, part_type type, uint32_t device, uint32_t at) {
    return s->done[type][s->devices[device].stages[at]] == s->p->micro_batches;
}

/* Passes the turn on where it is over; a stage with nothing left has none. Some stage has something left. */
static void pass_turn(scheduler *s, part_type type, uint32_t device) {
    device_state *d = &s->devices[device];
    turn *t = &d->turns[type];
    uint32_t step = priority(s, type)->depth_first ? d->count - 1 : 1;
    if (t->run < priority(s, type)->interval && !is_used_up(s, type, device, t->at)) return;
    do t->at = (t->at + step) % d->count;
    while (is_used_up(s, type, device, t->at));
    t->run = 0;
}

/* A stage keeps its turn while what it needs is on its way. `yielding`: not so, since every device waits. */
static uint32_t choose_stage(scheduler *s, part_type type, uint32_t device, bool yielding) {
    turn *t = &s->devices[device].turns[type];
    uint32_t first = first_ready(s, type, device);
    if (priority(s, type)->interval == 0 || first == NONE) return first;
    if (t->at == NONE || yielding)
        *t = (turn){first, 0};
    else
        pass_turn(s, type, device);
    return is_ready(s, type, device, t->at) ? t->at : NONE;
}

static part_type preferred_type(const scheduler *s, uint32_t device) {
    const device_state *d = &s->devices[device];
    const ons_flexpipe_options *o = s->options;
    if (o->type != ONS_INTERLEAVED) return o->type == ONS_FORWARD_FIRST ? FORWARD : BACKWARD;
    uint32_t unit = d->last == FORWARD ? o->forward_unit : o->backward_unit;
    if (unit == 0) unit = 1;
    return d->run < unit ? d->last : d->last == FORWARD ? BACKWARD : FORWARD;
}

/* ------------------------------------------------------------------------------------------------------------ steps */

static void run_part(scheduler *s, part_type type, uint32_t device, uint32_t at) {
    device_state *d = &s->devices[device];
    uint32_t stage = d->stages[at], mb = s->done[type][stage]++;
    ons_action_list *list = &s->lists[device];
    ons_schedule_put(list, type == FORWARD ? ONS_ACTION_FORWARD : ONS_ACTION_BACKWARD, stage, mb);
    if (type == BACKWARD && mb + 1 == s->p->micro_batches) ons_schedule_put(list, ONS_ACTION_UPDATE, stage, mb);
    d->places = type == FORWARD ? d->places + 1 : d->places - 1;
    d->run = d->last == type ? d->run + 1 : 1;
    d->last = type;
    ++d->turns[type].run;
}

/* A device without a part of the type that it prefers takes one of the other type. */
static bool step_device(scheduler *s, uint32_t device, bool yielding) {
    part_type type = preferred_type(s, device);
    for (uint32_t i = 0; i < TYPES; ++i, type = type == FORWARD ? BACKWARD : FORWARD) {
        uint32_t at = choose_stage(s, type, device, yielding);
        if (at == NONE) continue;
        run_part(s, type, device, at);
        return true;
    }
    return false;
}

/* All devices at once: each sees what was done before the step. Returns how many parts were done. */
static uint32_t step_all(scheduler *s, bool yielding) {
    uint32_t taken = 0;
    for (uint32_t device = 0; device < s->p->devices; ++device) taken += step_device(s, device, yielding);
    for (uint32_t type = 0; type < TYPES; ++type)
        memcpy(s->seen[type], s->done[type], s->p->stages * sizeof *s->done[type]);
    return taken;
}

/* The oldest micro-batch always has a next part that could run: limits leave it a place, turns give way. */
static ons_status *run_scheduler(scheduler *s) {
    uint64_t left = (uint64_t)TYPES * s->p->stages * s->p->micro_batches;
    while (left > 0) {
        uint32_t taken = step_all(s, false);
        if (taken == 0) taken = step_all(s, true);
        ONS_CHECK(taken > 0, ONS_INVALID_ARGUMENT, "schedule %s: no device can go on, with %llu parts left",
                  s->p->generator->name, (unsigned long long)left);
        left -= taken;
    }
    return NULL;
}

/* ---------------------------------------------------------------------------------------------------------- options */

static ons_status *check_limits(const scheduler *s) {
    const ons_flexpipe_options *o = s->options;
    for (uint32_t i = 0; o->stage_limits != NULL && i < s->p->stages; ++i)
        ONS_CHECK(o->stage_limits[i] > 0, ONS_INVALID_ARGUMENT,
                  "schedule %s: stage %u may hold no micro-batch; let it hold 1", s->p->generator->name, i);
    uint32_t least = s->p->stages / s->p->devices;
    for (uint32_t i = 0; o->device_limits != NULL && i < s->p->devices; ++i)
        ONS_CHECK(o->device_limits[i] >= least, ONS_INVALID_ARGUMENT,
                  "schedule %s: device %u may hold %u micro-batches in flight; its stages take at least 1 each, %u",
                  s->p->generator->name, i, o->device_limits[i], least);
    return NULL;
}

static ons_status *check(const scheduler *s) {
    if (s->options->placement == ONS_PLACEMENT_ONE_TO_ONE) ONS_TRY(ons_schedule_check_straight(s->p));
    ONS_TRY(ons_rounds_check(s->p));
    return check_limits(s);
}

ons_status *ons_flexpipe_schedule(const ons_flexpipe_options *options, const ons_pipeline *p, ons_arena *arena,
                                  ons_action_list *lists) {
    scheduler s = {.p = p, .options = options, .lists = lists};
    ONS_TRY(check(&s));
    ONS_TRY(ons_schedule_reserve(p, 2, arena, lists));
    ONS_TRY(place_all(&s, arena));
    for (uint32_t type = 0; type < TYPES; ++type) {
        ONS_NEW(s.done[type], arena, p->stages);
        ONS_NEW(s.seen[type], arena, p->stages);
    }
    return run_scheduler(&s);
}

static ons_status *generate(const ons_pipeline *p, ons_arena *arena, ons_action_list *lists) {
    return ons_flexpipe_schedule(p->generator->given, p, arena, lists);
}

ons_status *ons_generator_of_flexpipe(const ons_flexpipe_options *options, const char *name, ons_arena *arena,
                                      const ons_generator **generator) {
    ons_generator *made;
    ONS_NEW(made, arena, 1);
    *made = (ons_generator){.name = name,
                            .summary = "what placement, priorities and limits give",
                            .generate = generate,
                            .chunks = options->placement == ONS_PLACEMENT_ONE_TO_ONE ? 1 : 2,
                            .given = options};
    *generator = made;
    return NULL;
}
