#include "tests/rooms/planner/longest_path.h"

typedef struct walker {
    const ons_schedule *s;
    const stage_times *times;
    double link;
    longest_path *path;
    uint32_t *next; /* [device]: in its list */
    double *clock;  /* [device] */
} walker;

static double *new_ends(const ons_schedule *s, ons_arena *arena) {
    double *ends = ons_arena_allocate(arena, (size_t)s->stages * s->micro_batches, sizeof *ends);
    for (uint32_t i = 0; i < s->stages * s->micro_batches; ++i) ends[i] = -1;
    return ends;
}

/* `ready` becomes no less than when the value is there; false: not known yet. */
static bool read_value(const walker *w, const double *ends, uint32_t device, uint32_t stage, uint32_t mb,
                       double *ready) {
    double end = ends[stage * w->s->micro_batches + mb];
    if (end < 0) return false;
    if (w->s->device_of[stage] != device) end += w->link;
    if (end > *ready) *ready = end;
    return true;
}

static bool is_ready(const walker *w, uint32_t device, const ons_action *a, double *ready) {
    const longest_path *p = w->path;
    bool last = a->stage + 1 == w->s->stages;
    switch ((int)a->kind) {
    case ONS_ACTION_FORWARD:
        return a->stage == 0 || read_value(w, p->forward, device, a->stage - 1, a->micro_batch, ready);
    case ONS_ACTION_WEIGHT_GRADIENT: return read_value(w, p->gradient, device, a->stage, a->micro_batch, ready);
    case ONS_ACTION_UPDATE: return true;
    default:
        return read_value(w, p->forward, device, a->stage, a->micro_batch, ready) &&
               (last || read_value(w, p->gradient, device, a->stage + 1, a->micro_batch, ready));
    }
}

static void finish(walker *w, uint32_t device, const ons_action *a, double begin) {
    const stage_times *t = &w->times[a->stage];
    uint32_t at = a->stage * w->s->micro_batches + a->micro_batch;
    double *clock = &w->clock[device];
    *clock = begin;
    switch ((int)a->kind) {
    case ONS_ACTION_FORWARD: w->path->forward[at] = *clock += t->forward; break;
    case ONS_ACTION_INPUT_GRADIENT: w->path->gradient[at] = *clock += t->input; break;
    case ONS_ACTION_WEIGHT_GRADIENT: w->path->weight[at] = *clock += t->weight; break;
    case ONS_ACTION_BACKWARD: w->path->gradient[at] = w->path->weight[at] = *clock += t->input + t->weight; break;
    default: break;
    }
    if (*clock > w->path->step) w->path->step = *clock;
}

static bool advance(walker *w, uint32_t device) {
    const ons_action_list *list = &w->s->lists[device];
    uint32_t before = w->next[device];
    for (; w->next[device] < list->count; ++w->next[device]) {
        const ons_action *a = &list->items[w->next[device]];
        double begin = w->clock[device];
        if (!is_ready(w, device, a, &begin)) break;
        finish(w, device, a, begin);
    }
    return w->next[device] > before;
}

longest_path longest_path_find(const ons_schedule *s, const stage_times *times, double link, ons_arena *arena) {
    longest_path path = {.forward = new_ends(s, arena), .gradient = new_ends(s, arena), .weight = new_ends(s, arena)};
    walker w = {s, times, link, &path, NULL, NULL};
    w.next = ons_arena_allocate(arena, s->devices, sizeof *w.next);
    w.clock = ons_arena_allocate(arena, s->devices, sizeof *w.clock);
    for (bool progress = true; progress;) {
        progress = false;
        for (uint32_t device = 0; device < s->devices; ++device) progress |= advance(&w, device);
    }
    for (uint32_t device = 0; device < s->devices; ++device) path.hangs |= w.next[device] < s->lists[device].count;
    return path;
}
