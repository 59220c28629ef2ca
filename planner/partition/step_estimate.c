#include "planner/partition/step_estimate.h"

#include <math.h>
#include <string.h>

/* -------------------------------------------------------------------------------------------------------- the order */

typedef struct ordering {
    const ons_schedule *s;
    ons_action *order;
    uint32_t count;
    uint32_t *next;           /* [device]: in its list */
    uint8_t *forward, *input; /* [stage · micro-batches + its number]: has run */
} ordering;

/* Of the micro-batch among all of its stage, whichever copy computes it. */
static size_t place_of(const ons_schedule *s, const ons_action *a) {
    return (size_t)a->stage * s->micro_batches + ons_schedule_number(s, a->stage, a->copy, a->micro_batch);
}

static bool is_input(ons_action_kind kind) { return kind == ONS_ACTION_BACKWARD || kind == ONS_ACTION_INPUT_GRADIENT; }

static bool can_run(const ordering *o, const ons_action *a) {
    size_t at = place_of(o->s, a);
    if (a->kind == ONS_ACTION_FORWARD) return a->stage == 0 || o->forward[at - o->s->micro_batches];
    if (is_input(a->kind)) return a->stage + 1 == o->s->stages || o->input[at + o->s->micro_batches];
    return true;
}

static bool advance(ordering *o, uint32_t device) {
    const ons_action_list *list = &o->s->lists[device];
    uint32_t before = o->next[device];
    for (; o->next[device] < list->count && can_run(o, &list->items[o->next[device]]); ++o->next[device]) {
        const ons_action *a = &list->items[o->next[device]];
        size_t at = place_of(o->s, a);
        if (a->kind == ONS_ACTION_FORWARD) o->forward[at] = 1;
        if (is_input(a->kind)) o->input[at] = 1;
        o->order[o->count++] = *a;
    }
    return o->next[device] > before;
}

static ons_status *put_in_order(const ons_schedule *s, ons_arena *arena, ons_step_walk *w) {
    ordering o = {.s = s};
    size_t places = (size_t)s->stages * s->micro_batches, actions = 0;
    bool moved = true;
    for (uint32_t i = 0; i < s->devices; ++i) actions += s->lists[i].count;
    ONS_NEW(o.order, arena, actions);
    ONS_NEW(o.next, arena, s->devices);
    ONS_NEW(o.forward, arena, places);
    ONS_NEW(o.input, arena, places);
    while (moved) {
        moved = false;
        for (uint32_t i = 0; i < s->devices; ++i) moved |= advance(&o, i);
    }
    ONS_CHECK(o.count == actions, ONS_INVALID_DATA, "the schedule hangs: devices wait for each other");
    w->order = o.order;
    w->count = o.count;
    return NULL;
}

/* ----------------------------------------------------------------------------------------------------------- making */

/* Without end, a pipeline is steady after it has been filled, mostly, and then as many micro-batches more tell its
 * period; at the end forward parts have run out. */
static ons_status *choose_schedule(const ons_pipeline *p, const ons_schedule *given, ons_arena *arena,
                                   ons_schedule *walked) {
    ons_pipeline longer = *p;
    if (given != NULL && !given->asynchronous) {
        *walked = *given;
        return NULL;
    }
    if (ons_pipeline_is_asynchronous(p)) longer.micro_batches = 4 * p->stages + 2;
    return ons_schedule_make(&longer, arena, walked);
}

static ons_status *find_devices(const ons_schedule *s, ons_arena *arena, ons_step_walk *w) {
    uint32_t *lowest;
    bool *apart;
    ONS_NEW(lowest, arena, s->devices);
    ONS_NEW(apart, arena, s->devices);
    for (uint32_t i = s->stages; i-- > 0;)
        for (uint32_t copy = 0; copy < ons_schedule_grouping(s, i).copies; ++copy) {
            uint32_t device = ons_schedule_device(s, i, copy);
            lowest[device] = i;
            apart[device] |= s->loads[i].apart;
        }
    w->lowest = lowest;
    w->apart = apart;
    return NULL;
}

static uint32_t most_copies(const ons_schedule *s) {
    uint32_t most = 1;
    for (uint32_t i = 0; i < s->stages; ++i)
        if (ons_schedule_grouping(s, i).copies > most) most = ons_schedule_grouping(s, i).copies;
    return most;
}

ons_status *ons_step_walk_make(const ons_pipeline *p, const ons_schedule *given, ons_arena *arena, ons_step_walk *w) {
    *w = (ons_step_walk){.micro_batches = p->micro_batches};
    ons_schedule *s = &w->schedule;
    ONS_TRY(choose_schedule(p, given, arena, s));
    size_t places = (size_t)s->stages * s->micro_batches;
    ONS_NEW(w->device, arena, s->devices);
    ONS_NEW(w->load, arena, s->devices);
    w->links = s->stages * most_copies(s);
    ONS_NEW(w->link, arena, w->links);
    ONS_NEW(w->link_back, arena, w->links);
    ONS_NEW(w->sent, arena, places);
    ONS_NEW(w->returned, arena, places);
    ONS_TRY(find_devices(s, arena, w));
    return put_in_order(s, arena, w);
}

/* ---------------------------------------------------------------------------------------------------------- walking */

static bool is_local(const ons_step_walk *w, uint32_t stage) {
    return w->schedule.device_of[stage] == w->schedule.device_of[stage - 1];
}

/* Of the stage's copy, whose messages take another way than those of others. */
static size_t link_of(const ons_step_walk *w, const ons_action *a) {
    return (size_t)a->copy * w->schedule.stages + a->stage;
}

static double *device_of(const ons_step_walk *w, const ons_action *a) {
    return &w->device[ons_schedule_device(&w->schedule, a->stage, a->copy)];
}

static void run_forward(const ons_step_walk *w, const ons_step_stage *stages, const ons_action *a) {
    uint32_t m = w->schedule.micro_batches, next = a->stage + 1;
    size_t at = place_of(&w->schedule, a), link = link_of(w, a);
    double *free = device_of(w, a);
    if (a->stage > 0 && w->sent[at - m] > *free) *free = w->sent[at - m];
    *free += stages[a->stage].forward;
    if (next == w->schedule.stages) return;
    w->sent[at] = *free;
    if (is_local(w, next)) return;
    w->sent[at] = fmax(w->link[link], *free - stages[next].slack) + stages[next].arrive;
    w->link[link] = w->sent[at] - stages[next].travel;
}

static void run_input(const ons_step_walk *w, const ons_step_stage *stages, const ons_action *a) {
    uint32_t m = w->schedule.micro_batches, stage = a->stage;
    size_t at = place_of(&w->schedule, a), link = link_of(w, a);
    const ons_step_stage *s = &stages[stage];
    double *free = device_of(w, a);
    if (stage + 1 < w->schedule.stages) *free = fmax(*free, w->returned[at + m]);
    *free += a->kind == ONS_ACTION_BACKWARD ? s->backward : s->backward - s->weight;
    w->returned[at] = *free;
    if (stage == 0 || is_local(w, stage)) return;
    double slack = a->kind == ONS_ACTION_BACKWARD ? s->slack_back : s->slack_back - s->slack_weight;
    w->returned[at] = fmax(w->link_back[link], *free - slack) + s->back;
    w->link_back[link] = w->returned[at] - s->travel;
}

static void run_action(const ons_step_walk *w, const ons_step_stage *stages, const ons_action *a) {
    double *free = device_of(w, a);
    switch ((int)a->kind) {
    case ONS_ACTION_FORWARD: run_forward(w, stages, a); break;
    case ONS_ACTION_BACKWARD:
    case ONS_ACTION_INPUT_GRADIENT: run_input(w, stages, a); break;
    case ONS_ACTION_WEIGHT_GRADIENT: *free += stages[a->stage].weight; break;
    case ONS_ACTION_UPDATE: *free += stages[a->stage].update; break;
    default: break;
    }
}

static void rewind_walk(const ons_step_walk *w) {
    memset(w->device, 0, w->schedule.devices * sizeof *w->device);
    memset(w->link, 0, w->links * sizeof *w->link);
    memset(w->link_back, 0, w->links * sizeof *w->link_back);
}

/* The period of the first stage's updates, once the pipeline has been filled. */
static double estimate_steady(const ons_step_walk *w, const ons_step_stage *stages) {
    uint32_t from = 2 * w->schedule.stages, to = 3 * w->schedule.stages;
    double began = 0, ended = 0;
    for (uint32_t i = 0; i < w->count && ended == 0; ++i) {
        const ons_action *a = &w->order[i];
        run_action(w, stages, a);
        if (a->kind != ONS_ACTION_UPDATE || a->stage != 0) continue;
        if (a->micro_batch == from) began = w->device[w->schedule.device_of[0]];
        if (a->micro_batch == to) ended = w->device[w->schedule.device_of[0]];
    }
    double period = (ended - began) / (to - from);
    return fmax(period * w->micro_batches, ons_step_bound(w, stages));
}

double ons_step_estimate(const ons_step_walk *w, const ons_step_stage *stages) {
    double seconds = 0;
    rewind_walk(w);
    if (w->schedule.asynchronous) return estimate_steady(w, stages);
    for (uint32_t i = 0; i < w->count; ++i) run_action(w, stages, &w->order[i]);
    for (uint32_t i = 0; i < w->schedule.devices; ++i) seconds = fmax(seconds, w->device[i]);
    return seconds;
}

/* ----------------------------------------------------------------------------------------------------------- bounds */

/* Of a unit of a step: a stage's copies share its micro-batches. */
static void add_loads(const ons_step_walk *w, const ons_step_stage *stages, bool updates) {
    memset(w->load, 0, w->schedule.devices * sizeof *w->load);
    for (uint32_t i = 0; i < w->schedule.stages; ++i) {
        uint32_t copies = ons_schedule_grouping(&w->schedule, i).copies;
        for (uint32_t copy = 0; copy < copies; ++copy)
            w->load[ons_schedule_device(&w->schedule, i, copy)] +=
                (stages[i].forward + stages[i].backward) / copies + (updates ? stages[i].update : 0);
    }
}

/* A device and links have so much to do for each micro-batch; and with so many in flight, a micro-batch's way from a
 * stage on and back to it may take no longer than as many periods. */
static double bound_steady(const ons_step_walk *w, const ons_step_stage *stages) {
    double period = 0, way = 0;
    add_loads(w, stages, true);
    for (uint32_t i = 0; i < w->schedule.devices; ++i) period = fmax(period, w->load[i]);
    for (uint32_t stage = w->schedule.stages; stage-- > 0;) {
        const ons_step_stage *s = &stages[stage];
        bool local = stage > 0 && is_local(w, stage);
        way += s->forward + s->backward;
        if (!local) period = fmax(period, fmax(s->arrive, s->back) - s->travel);
        period = fmax(period, (way + s->update) / w->schedule.loads[stage].in_flight);
        if (!local) way += s->arrive + s->back - s->slack - s->slack_back;
    }
    return w->micro_batches * period * (1 - 1e-12);
}

/* Between the beginning and a device's first part lies the way to its first stage, and behind its last part the way
 * back from there: where weight gradients are apart, they may be that last part. */
double ons_step_bound(const ons_step_walk *w, const ons_step_stage *stages) {
    double there = 0, back = 0, most = 0;
    if (w->schedule.asynchronous) return bound_steady(w, stages);
    add_loads(w, stages, false);
    for (uint32_t stage = 0; stage < w->schedule.stages; ++stage) {
        const ons_step_stage *s = &stages[stage];
        uint32_t device = w->schedule.device_of[stage];
        if (stage > 0 && !is_local(w, stage)) {
            there = fmax(there + s->arrive - s->slack, 0);
            back = fmax(back + s->back - s->slack_back + (w->schedule.loads[stage].apart ? s->slack_weight : 0), 0);
        }
        if (w->lowest[device] == stage) {
            double own = w->micro_batches * w->load[device];
            double behind = w->apart[device] ? s->update : back + (stage == 0 ? s->update : stages[0].update);
            most = fmax(most, there + own + behind);
        }
        there += s->forward;
        back += w->schedule.loads[stage].apart ? s->backward - s->weight : s->backward;
    }
    return most * (1 - 1e-12);
}

double ons_step_most(const ons_step_walk *w, const ons_step_stage *stages, uint32_t stage, double limit) {
    bool without_end = w->schedule.asynchronous;
    uint32_t device = w->schedule.device_of[stage], lowest = w->lowest[device];
    double own = (double)w->micro_batches / ons_schedule_grouping(&w->schedule, stage).copies; /* of a copy */
    double beside = without_end ? w->micro_batches * stages[stage].update : stages[0].update;
    if (!without_end && w->apart[device]) return fmax(limit / own, 0) * (1 + 1e-9);
    for (uint32_t i = 0; i < lowest && !without_end; ++i)
        beside += stages[i].forward + stages[i].backward + stages[i + 1].arrive + stages[i + 1].back -
                  stages[i + 1].slack - stages[i + 1].slack_back;
    return fmax((limit - beside) / own, 0) * (1 + 1e-9);
}
