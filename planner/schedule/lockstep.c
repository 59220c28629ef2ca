#include "planner/schedule/lockstep.h"

enum { NEVER = 0 };

typedef struct walker {
    const ons_schedule *s;
    uint32_t *next; /* [device]: in its list */
    uint32_t tick;
} walker;

static size_t place(const ons_schedule *s, uint32_t stage, uint32_t micro_batch) {
    return (size_t)stage * s->micro_batches + micro_batch;
}

static bool takes_gradient(ons_action_kind kind) {
    return kind == ONS_ACTION_BACKWARD || kind == ONS_ACTION_INPUT_GRADIENT;
}

static bool was_before(const walker *w, const uint32_t *ticks, uint32_t stage, uint32_t micro_batch) {
    uint32_t tick = ticks[place(w->s, stage, micro_batch)];
    return tick != NEVER && tick < w->tick;
}

static bool is_ready(const walker *w, const ons_action *a) {
    const ons_schedule *s = w->s;
    if (a->kind == ONS_ACTION_FORWARD && a->stage > 0)
        return was_before(w, s->forward_ticks, a->stage - 1, a->micro_batch);
    if (takes_gradient(a->kind) && a->stage + 1 < s->stages)
        return was_before(w, s->backward_ticks, a->stage + 1, a->micro_batch);
    return true;
}

static bool advance_device(walker *w, uint32_t device) {
    const ons_schedule *s = w->s;
    if (w->next[device] == s->lists[device].count) return false;
    const ons_action *a = &s->lists[device].items[w->next[device]];
    if (!is_ready(w, a)) return false;
    if (a->kind == ONS_ACTION_FORWARD) s->forward_ticks[place(s, a->stage, a->micro_batch)] = w->tick;
    if (takes_gradient(a->kind)) s->backward_ticks[place(s, a->stage, a->micro_batch)] = w->tick;
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

/* Most values that `making` has made and nobody has begun to read; `reading` in ascending order of micro-batches. */
static uint32_t most_unread(const uint32_t *making, const uint32_t *reading, uint32_t micro_batches) {
    uint32_t most = 0, read = 0;
    for (uint32_t i = 0; i < micro_batches && making[i] != NEVER; ++i) {
        while (read < i && reading[read] != NEVER && reading[read] <= making[i]) ++read;
        if (i + 1 - read > most) most = i + 1 - read;
    }
    return most;
}

uint32_t ons_schedule_ahead(const ons_schedule *s, uint32_t from, uint32_t to) {
    uint32_t early = from < to ? from : to, late = from < to ? to : from;
    uint32_t a = s->loads[early].in_flight, b = s->loads[late].in_flight, room = a > b ? a - b : b - a;
    size_t first = place(s, early, 0), second = place(s, late, 0);
    uint32_t forth = most_unread(s->forward_ticks + first, s->forward_ticks + second, s->micro_batches);
    uint32_t back = most_unread(s->backward_ticks + second, s->backward_ticks + first, s->micro_batches);
    room = forth > room ? forth : room;
    room = back > room ? back : room;
    return room > 1 ? room : 1;
}
