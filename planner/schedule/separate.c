#include "planner/schedule/separate.h"

#include <string.h>

#include "planner/schedule/writer.h"

/* A timeline of the schedule, with the stashed weight gradients in bubbles and the others each behind an input
 * gradient, is made again for each bubble that is looked at:
 *
 *   the first bubble ──▶ the part that waits there ──▶ back along what it waited for, to the step's begin
 *     ──▶ weight gradients on that way are stashed ──▶ a timeline with them; kept if it is not slower
 */

/* A part in a timeline. */
typedef struct event {
    ons_action action;
    double begin, end;         /* seconds from the step's beginning */
    const struct event *cause; /* what it waited for; NULL: nothing but its device */
    uint32_t position;         /* in its device's list */
    bool in_place;             /* a weight gradient right behind the input gradient of micro-batch `behind` */
    uint32_t behind;
} event;

typedef struct timeline {
    event **events;  /* [device] */
    uint32_t *count; /* [device] */
    double step;     /* seconds */
    bool *stashed;   /* [stage * micro-batches + micro-batch]: the weight gradient behind this input gradient */
} timeline;

typedef struct stage_counts {
    uint32_t forward, input, weight;
} stage_counts;

typedef struct separator {
    const ons_schedule *s;
    const ons_stage_times *times;
    const uint32_t *in_flight;
    double slack;   /* seconds that rounding may add up to */
    bool *given_up; /* [stage * micro-batches + micro-batch][gradient]: a bubble before this part stays */
    timeline kept, tried;
    /* While a timeline is made: */
    timeline *c;
    stage_counts *counts;              /* [stage] */
    uint32_t *next;                    /* [device]: in the schedule's list */
    const event **forward, **gradient; /* [stage * micro-batches + micro-batch] */
} separator;

static size_t index_of(const separator *x, const ons_action *a) {
    return (size_t)a->stage * x->s->micro_batches + a->micro_batch;
}

static double clock_of(const separator *x, uint32_t device) {
    uint32_t count = x->c->count[device];
    return count == 0 ? 0 : x->c->events[device][count - 1].end;
}

/* ------------------------------------------------------------------------------------------------------- a timeline */

static double duration(const separator *x, const ons_action *a) {
    const ons_stage_times *t = &x->times[a->stage];
    return a->kind == ONS_ACTION_FORWARD ? t->forward : a->kind == ONS_ACTION_WEIGHT_GRADIENT ? t->weight : t->input;
}

/* At `ready`, where something is waited for so long. */
static event *put(separator *x, uint32_t device, ons_action a, double ready, const event *cause) {
    double begin = clock_of(x, device);
    uint32_t position = x->c->count[device]++;
    event *e = &x->c->events[device][position];
    bool waits = ready > begin + x->slack;
    if (ready > begin) begin = ready;
    *e = (event){.action = a, .begin = begin, .end = begin + duration(x, &a), .position = position};
    if (waits) e->cause = cause;
    if (e->end > x->c->step) x->c->step = e->end;
    return e;
}

static event *put_weight_gradient(separator *x, uint32_t device, uint32_t stage) {
    uint32_t micro_batch = x->counts[stage].weight++;
    return put(x, device, (ons_action){.kind = ONS_ACTION_WEIGHT_GRADIENT, .stage = stage, .micro_batch = micro_batch},
               0, NULL);
}

static uint32_t waiting(const separator *x, uint32_t stage) { return x->counts[stage].input - x->counts[stage].weight; }

/* The device's stage with most stashed weight gradients, of which one ends before `ready`; stages if there is none. */
static uint32_t find_filler(const separator *x, uint32_t device, double ready) {
    uint32_t found = x->s->stages;
    double clock = clock_of(x, device);
    if (ready <= clock + x->slack) return found;
    for (uint32_t i = 0; i < x->s->stages; ++i) {
        if (x->s->device_of[i] != device || waiting(x, i) == 0) continue;
        if (clock + x->times[i].weight > ready + x->slack) continue;
        if (found == x->s->stages || waiting(x, i) > waiting(x, found)) found = i;
    }
    return found;
}

/* A weight gradient gives a place back. */
static void make_place(separator *x, uint32_t device, uint32_t stage) {
    const stage_counts *n = &x->counts[stage];
    while (n->forward - n->weight >= x->in_flight[stage] && waiting(x, stage) > 0)
        put_weight_gradient(x, device, stage);
}

static const event *later(const event *a, const event *b) { return a == NULL || b->end > a->end ? b : a; }

/* What the part reads, that which comes last; false: some of it is not there yet. */
static bool find_cause(const separator *x, const ons_action *a, const event **cause) {
    size_t at = index_of(x, a), m = x->s->micro_batches;
    bool gradient = a->kind == ONS_ACTION_BACKWARD, last = a->stage + 1 == x->s->stages;
    *cause = NULL;
    if (!gradient && a->stage == 0) return true;
    const event *near = gradient ? x->forward[at] : x->forward[at - m];
    const event *far = gradient && !last ? x->gradient[at + m] : near;
    if (near == NULL || far == NULL) return false;
    *cause = later(near, far);
    return true;
}

static void put_part(separator *x, uint32_t device, ons_action a, double ready, const event *cause) {
    stage_counts *n = &x->counts[a.stage];
    size_t at = index_of(x, &a);
    if (a.kind == ONS_ACTION_FORWARD) {
        make_place(x, device, a.stage);
        x->forward[at] = put(x, device, a, ready, cause);
        ++n->forward;
        return;
    }
    a.kind = ONS_ACTION_INPUT_GRADIENT;
    x->gradient[at] = put(x, device, a, ready, cause);
    ++n->input;
    if (x->c->stashed[at]) return;
    event *e = put_weight_gradient(x, device, a.stage);
    e->in_place = true;
    e->behind = a.micro_batch;
}

/* Runs the device's list until a part waits for one that has not run. Before a part that waits for a while, stashed
 * weight gradients that fit in are run. */
static bool advance(separator *x, uint32_t device) {
    const ons_action_list *list = &x->s->lists[device];
    const event *cause;
    uint32_t before = x->next[device];
    for (; x->next[device] < list->count; ++x->next[device]) {
        ons_action a = list->items[x->next[device]];
        if (a.kind == ONS_ACTION_UPDATE) continue;
        if (!find_cause(x, &a, &cause)) break;
        double ready = cause != NULL ? cause->end : 0;
        for (uint32_t i = find_filler(x, device, ready); i < x->s->stages; i = find_filler(x, device, ready))
            put_weight_gradient(x, device, i);
        put_part(x, device, a, ready, cause);
    }
    return x->next[device] > before;
}

static void put_rest(separator *x) {
    for (uint32_t i = 0; i < x->s->stages; ++i)
        while (waiting(x, i) > 0) put_weight_gradient(x, x->s->device_of[i], i);
}

static void begin_timeline(separator *x, timeline *c) {
    const ons_schedule *s = x->s;
    size_t parts = (size_t)s->stages * s->micro_batches;
    x->c = c;
    c->step = 0;
    for (uint32_t device = 0; device < s->devices; ++device) c->count[device] = x->next[device] = 0;
    for (uint32_t i = 0; i < s->stages; ++i) x->counts[i] = (stage_counts){0, 0, 0};
    for (size_t i = 0; i < parts; ++i) x->forward[i] = x->gradient[i] = NULL;
}

/* false: the schedule hangs. */
static bool make_timeline(separator *x, timeline *c) {
    begin_timeline(x, c);
    for (bool progress = true; progress;) {
        progress = false;
        for (uint32_t device = 0; device < x->s->devices; ++device) progress |= advance(x, device);
    }
    for (uint32_t device = 0; device < x->s->devices; ++device)
        if (x->next[device] < x->s->lists[device].count) return false;
    put_rest(x);
    return true;
}

/* ---------------------------------------------------------------------------------------------------------- bubbles */

static bool *given_up(const separator *x, const ons_action *a) {
    return &x->given_up[index_of(x, a) * 2 + (a->kind != ONS_ACTION_FORWARD)];
}

/* The part behind the first bubble that has not been given up; NULL where there is none. */
static const event *find_blocked(const separator *x) {
    const event *found = NULL;
    for (uint32_t device = 0; device < x->s->devices; ++device)
        for (uint32_t i = 1; i < x->kept.count[device]; ++i) {
            const event *e = &x->kept.events[device][i];
            if (e->cause == NULL || *given_up(x, &e->action)) continue;
            if (found == NULL || e->begin < found->begin) found = e;
            break; /* the others of this device begin later */
        }
    return found;
}

/* Stashes the weight gradients on the way back from `e`. Returns how many. */
static uint32_t stash_chain(separator *x, const event *e) {
    uint32_t found = 0;
    while (e->cause != NULL || e->position > 0) {
        e = e->cause != NULL ? e->cause : e - 1;
        if (!e->in_place) continue;
        x->tried.stashed[index_of(x, &(ons_action){.stage = e->action.stage, .micro_batch = e->behind})] = true;
        ++found;
    }
    return found;
}

static void keep_tried(separator *x) {
    timeline c = x->kept;
    x->kept = x->tried;
    x->tried = c;
}

/* Takes bubble after bubble, the earliest first. Weight gradients are stashed for one, and stay so if the step is no
 * longer for it; else that bubble is given up for good, so that the loop ends. */
static void fill_bubbles(separator *x) {
    size_t parts = (size_t)x->s->stages * x->s->micro_batches;
    double least = x->kept.step; /* not that of the timeline before, or rounding would add up */
    for (const event *e = find_blocked(x); e != NULL; e = find_blocked(x)) {
        memcpy(x->tried.stashed, x->kept.stashed, parts * sizeof *x->tried.stashed);
        bool good = stash_chain(x, e) > 0 && make_timeline(x, &x->tried) && x->tried.step <= least + x->slack;
        if (good) {
            keep_tried(x);
            if (x->kept.step < least) least = x->kept.step;
        } else {
            *given_up(x, &e->action) = true;
        }
    }
}

/* ----------------------------------------------------------------------------------------------------------- making */

static ons_status *check(const ons_schedule *s) {
    ONS_CHECK(
        !s->asynchronous, ONS_INVALID_ARGUMENT,
        "gradients of an asynchronous schedule stay whole: each update waits for its own; take a synchronous one");
    for (uint32_t device = 0; device < s->devices; ++device)
        for (uint32_t i = 0; i < s->lists[device].count; ++i) {
            const ons_action *a = &s->lists[device].items[i];
            bool known =
                a->kind == ONS_ACTION_FORWARD || a->kind == ONS_ACTION_BACKWARD || a->kind == ONS_ACTION_UPDATE;
            ONS_CHECK(
                known, ONS_INVALID_ARGUMENT,
                "device %u, action %u: %s of stage %u, micro-batch %u; only lists of forward parts, whole backward "
                "parts and updates can be taken apart",
                device, i, ons_action_name(a->kind), a->stage, a->micro_batch);
        }
    return NULL;
}

static ons_status *make_room(const ons_schedule *s, ons_arena *arena, timeline *c) {
    ONS_NEW(c->events, arena, s->devices);
    ONS_NEW(c->count, arena, s->devices);
    ONS_NEW(c->stashed, arena, (size_t)s->stages * s->micro_batches);
    for (uint32_t i = 0; i < s->devices; ++i) ONS_NEW(c->events[i], arena, 2 * (size_t)s->lists[i].count);
    return NULL;
}

static ons_status *set_limits(separator *x, const uint32_t *in_flight, ons_arena *arena) {
    uint32_t *limits, most = 0;
    x->in_flight = in_flight;
    if (in_flight != NULL) return NULL;
    ONS_NEW(limits, arena, x->s->stages);
    for (uint32_t i = 0; i < x->s->stages; ++i)
        if (x->s->loads[i].in_flight > most) most = x->s->loads[i].in_flight;
    for (uint32_t i = 0; i < x->s->stages; ++i) limits[i] = most;
    x->in_flight = limits;
    return NULL;
}

static ons_status *prepare(separator *x, ons_arena *arena) {
    const ons_schedule *s = x->s;
    size_t parts = (size_t)s->stages * s->micro_batches;
    for (uint32_t i = 0; i < s->stages; ++i)
        x->slack += 1e-12 * s->micro_batches * (x->times[i].forward + x->times[i].input + x->times[i].weight);
    ONS_NEW(x->given_up, arena, 2 * parts);
    ONS_NEW(x->counts, arena, s->stages);
    ONS_NEW(x->next, arena, s->devices);
    ONS_NEW(x->forward, arena, parts);
    ONS_NEW(x->gradient, arena, parts);
    ONS_TRY(make_room(s, arena, &x->kept));
    return make_room(s, arena, &x->tried);
}

static ons_status *write_lists(const separator *x, ons_arena *arena, ons_schedule *separate) {
    *separate = *x->s;
    ONS_NEW(separate->lists, arena, separate->devices);
    for (uint32_t device = 0; device < separate->devices; ++device) {
        ons_action_list *list = &separate->lists[device];
        ONS_NEW(list->items, arena, x->kept.count[device] + (size_t)separate->stages);
        for (uint32_t i = 0; i < x->kept.count[device]; ++i) {
            ons_action a = x->kept.events[device][i].action;
            ons_schedule_put(list, a.kind, a.stage, a.micro_batch);
            if (a.kind == ONS_ACTION_WEIGHT_GRADIENT && a.micro_batch + 1 == separate->micro_batches)
                ons_schedule_put(list, ONS_ACTION_UPDATE, a.stage, a.micro_batch);
        }
    }
    return ons_schedule_take(separate, arena);
}

static ons_status *separate_with(separator *x, const uint32_t *in_flight, ons_arena *scratch, ons_arena *arena,
                                 ons_schedule *separate) {
    ONS_TRY(set_limits(x, in_flight, scratch));
    ONS_TRY(prepare(x, scratch));
    ONS_CHECK(make_timeline(x, &x->kept), ONS_INVALID_DATA,
              "the lists of the schedule wait for each other; ons_schedule_verify names the place");
    fill_bubbles(x);
    return write_lists(x, arena, separate);
}

ons_status *ons_schedule_separate(const ons_schedule *schedule, const ons_stage_times *times, const uint32_t *in_flight,
                                  ons_arena *arena, ons_schedule *separate) {
    separator x = {.s = schedule, .times = times};
    ONS_TRY(check(schedule));
    ons_arena *scratch = ons_arena_new();
    if (scratch == NULL) return ons_status_out_of_memory();
    ons_status *status = separate_with(&x, in_flight, scratch, arena, separate);
    ons_arena_free(scratch);
    return status;
}
