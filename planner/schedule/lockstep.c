#include "planner/schedule/lockstep.h"

enum { NEVER = 0 };

typedef struct walker {
    const ons_schedule *s;
    uint32_t *next; /* [device]: in its list */
    uint32_t tick;
} walker;

static size_t place(const ons_schedule *s, uint32_t stage, uint32_t unit) {
    return (size_t)stage * s->micro_batches + unit;
}

static bool takes_gradient(ons_action_kind kind) {
    return kind == ONS_ACTION_BACKWARD || kind == ONS_ACTION_INPUT_GRADIENT;
}

/* Tests whether another stage has computed all that the action takes. */
static bool was_before(const walker *w, const uint32_t *ticks, uint32_t stage, const ons_action *a) {
    uint32_t first = ons_schedule_first_unit(w->s, a->stage, a->copy, a->micro_batch);
    for (uint32_t i = 0; i < ons_schedule_grouping(w->s, a->stage).size; ++i) {
        uint32_t tick = ticks[place(w->s, stage, first + i)];
        if (tick == NEVER || tick >= w->tick) return false;
    }
    return true;
}

static bool is_ready(const walker *w, const ons_action *a) {
    const ons_schedule *s = w->s;
    if (a->kind == ONS_ACTION_FORWARD && a->stage > 0) return was_before(w, s->forward_ticks, a->stage - 1, a);
    if (takes_gradient(a->kind) && a->stage + 1 < s->stages) return was_before(w, s->backward_ticks, a->stage + 1, a);
    return true;
}

static void note_tick(const walker *w, const ons_action *a, uint32_t *ticks) {
    uint32_t first = ons_schedule_first_unit(w->s, a->stage, a->copy, a->micro_batch);
    for (uint32_t i = 0; i < ons_schedule_grouping(w->s, a->stage).size; ++i)
        ticks[place(w->s, a->stage, first + i)] = w->tick;
}

static bool advance_device(walker *w, uint32_t device) {
    const ons_schedule *s = w->s;
    if (w->next[device] == s->lists[device].count) return false;
    const ons_action *a = &s->lists[device].items[w->next[device]];
    if (!is_ready(w, a)) return false;
    if (a->kind == ONS_ACTION_FORWARD) note_tick(w, a, s->forward_ticks);
    if (takes_gradient(a->kind)) note_tick(w, a, s->backward_ticks);
    ++w->next[device];
    return true;
}

ons_status *ons_schedule_run_lockstep(ons_schedule *s, ons_arena *arena) {
    size_t parts = (size_t)s->stages * s->micro_batches;
    walker w = {.s = s, .tick = NEVER};
    ONS_NEW(w.next, arena, s->devices);
    ONS_NEW(s->forward_ticks, arena, parts);
    ONS_NEW(s->backward_ticks, arena, parts);
    for (bool going = true; going;) {
        going = false;
        ++w.tick;
        for (uint32_t device = 0; device < s->devices; ++device) going |= advance_device(&w, device);
    }
    return NULL;
}

/* Most values that `making` has made and nobody has begun to read, of those from the first that is not read on. */
static uint32_t most_unread(const uint32_t *making, const uint32_t *reading, uint32_t units) {
    uint32_t most = 0, read = 0;
    for (uint32_t i = 0; i < units && making[i] != NEVER; ++i) {
        if (i > 0 && making[i] < making[i - 1]) read = 0; /* another copy was quicker */
        while (read < i && reading[read] != NEVER && reading[read] <= making[i]) ++read;
        if (i + 1 - read > most) most = i + 1 - read;
    }
    return most;
}

/* Units that all copies of the stage take at once. */
static uint32_t taken_at_once(const ons_schedule *s, uint32_t stage) {
    ons_stage_grouping g = ons_schedule_grouping(s, stage);
    return g.size * g.copies;
}

static uint32_t larger(uint32_t a, uint32_t b) { return a > b ? a : b; }

uint32_t ons_schedule_ahead(const ons_schedule *s, uint32_t from, uint32_t to) {
    uint32_t early = from < to ? from : to, late = from < to ? to : from;
    uint32_t a = s->loads[early].in_flight * taken_at_once(s, early);
    uint32_t b = s->loads[late].in_flight * taken_at_once(s, late);
    size_t first = place(s, early, 0), second = place(s, late, 0);
    uint32_t forth = most_unread(s->forward_ticks + first, s->forward_ticks + second, s->micro_batches);
    uint32_t back = most_unread(s->backward_ticks + second, s->backward_ticks + first, s->micro_batches);
    uint32_t room = larger(a > b ? a - b : b - a, larger(forth, back));
    return larger(room, larger(taken_at_once(s, early), taken_at_once(s, late)));
}
