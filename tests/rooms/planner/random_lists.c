#include "tests/rooms/planner/random_lists.h"

#include <string.h>

/* ------------------------------------------------------------------------------------------------------ legal lists */

enum { MOST_STAGES = 12 };

typedef struct maker {
    random_source *random;
    ons_schedule *s;
    uint32_t device_of[MOST_STAGES];
    uint32_t forward[MOST_STAGES], input[MOST_STAGES], weight[MOST_STAGES]; /* done */
    bool apart[MOST_STAGES], updates_before_end[MOST_STAGES];
    double eager; /* how often a forward part is preferred */
} maker;

static void place_stages(maker *m) {
    ons_schedule *s = m->s;
    for (uint32_t i = 0; i < s->stages; ++i) m->device_of[i] = i % s->devices;
    for (uint32_t i = s->stages; i > 1; --i) {
        uint32_t other = random_below(m->random, i), device = m->device_of[other];
        m->device_of[other] = m->device_of[i - 1];
        m->device_of[i - 1] = device;
    }
    for (uint32_t i = 0; i < s->stages; ++i) {
        m->apart[i] = random_chance(m->random, 0.5);
        m->updates_before_end[i] = random_chance(m->random, 0.5);
    }
}

/* Whether all that stage `from` has sent to stage `to` was taken. */
static bool is_taken(const maker *m, uint32_t from, uint32_t to, const uint32_t *done) {
    return m->device_of[from] == m->device_of[to] || done[from] <= done[to];
}

static bool can_run(const maker *m, ons_action_kind kind, uint32_t i) {
    bool first = i == 0, last = i + 1 == m->s->stages;
    if (kind == ONS_ACTION_FORWARD)
        return m->forward[i] < m->s->micro_batches && (first || m->forward[i - 1] > m->forward[i]) &&
               (last || is_taken(m, i, i + 1, m->forward));
    if (kind == ONS_ACTION_WEIGHT_GRADIENT) return m->apart[i] && m->weight[i] < m->input[i];
    return m->input[i] < m->forward[i] && (last || m->input[i + 1] > m->input[i]) &&
           (first || is_taken(m, i, i - 1, m->input));
}

static void put(maker *m, ons_action_kind kind, uint32_t stage, uint32_t micro_batch) {
    ons_action_list *list = &m->s->lists[m->device_of[stage]];
    list->items[list->count++] = (ons_action){.kind = kind, .stage = stage, .micro_batch = micro_batch};
}

static void run(maker *m, ons_action_kind kind, uint32_t i) {
    if (kind == ONS_ACTION_FORWARD) put(m, kind, i, m->forward[i]++);
    if (kind == ONS_ACTION_WEIGHT_GRADIENT) put(m, kind, i, m->weight[i]++);
    if (kind == ONS_ACTION_BACKWARD && m->apart[i]) put(m, ONS_ACTION_INPUT_GRADIENT, i, m->input[i]++);
    if (kind == ONS_ACTION_BACKWARD && !m->apart[i]) put(m, kind, i, m->input[i]++), ++m->weight[i];
    bool ends = kind != ONS_ACTION_FORWARD && m->weight[i] == m->s->micro_batches;
    if (ends && m->updates_before_end[i]) put(m, ONS_ACTION_UPDATE, i, m->s->micro_batches - 1);
}

/* One of the actions that can run; false: none is left. */
static bool run_one(maker *m) {
    static const ons_action_kind kinds[] = {ONS_ACTION_FORWARD, ONS_ACTION_BACKWARD, ONS_ACTION_WEIGHT_GRADIENT};
    ons_action_kind chosen = ONS_ACTION_COUNT;
    uint32_t stage = 0;
    double best = -1;
    for (int k = 0; k < 3; ++k)
        for (uint32_t i = 0; i < m->s->stages; ++i) {
            double preference = random_unit(m->random) * (k == 0 ? m->eager : 1);
            if (!can_run(m, kinds[k], i) || preference <= best) continue;
            best = preference, chosen = kinds[k], stage = i;
        }
    if (chosen != ONS_ACTION_COUNT) run(m, chosen, stage);
    return chosen != ONS_ACTION_COUNT;
}

ons_schedule random_lists_make(random_source *random, ons_arena *arena) {
    ons_schedule s = {.devices = 1 + random_below(random, 4), .micro_batches = 1 + random_below(random, 8)};
    s.stages = s.devices * (1 + random_below(random, 3));
    s.lists = ons_arena_allocate(arena, s.devices, sizeof *s.lists);
    size_t most = (size_t)s.stages * (3 * s.micro_batches + 1) + 1; /* one more: damages */
    for (uint32_t i = 0; i < s.devices; ++i)
        s.lists[i].items = ons_arena_allocate(arena, most, sizeof *s.lists[i].items);
    maker m = {.random = random, .s = &s, .eager = random_between(random, 0.5, 3, false)};
    place_stages(&m);
    while (run_one(&m)) continue;
    for (uint32_t i = 0; i < s.stages; ++i)
        if (!m.updates_before_end[i]) put(&m, ONS_ACTION_UPDATE, i, s.micro_batches - 1);
    return s;
}

/* ---------------------------------------------------------------------------------------------------------- damages */

static void insert(ons_action_list *list, uint32_t at, ons_action a) {
    memmove(list->items + at + 1, list->items + at, (list->count++ - at) * sizeof a);
    list->items[at] = a;
}

static ons_action take(ons_action_list *list, uint32_t at) {
    ons_action a = list->items[at];
    memmove(list->items + at, list->items + at + 1, (--list->count - at) * sizeof a);
    return a;
}

static bool is_gradient(ons_action_kind kind) {
    return kind == ONS_ACTION_BACKWARD || kind == ONS_ACTION_INPUT_GRADIENT;
}

static bool frees(ons_action_kind kind) { return kind == ONS_ACTION_BACKWARD || kind == ONS_ACTION_WEIGHT_GRADIENT; }

/* The place in a list; its length where it is not there. `gradient`: that of the input, else the forward part. */
static uint32_t find(const ons_action_list *list, uint32_t stage, uint32_t micro_batch, bool gradient) {
    uint32_t at = 0;
    for (; at < list->count; ++at) {
        const ons_action *a = &list->items[at];
        bool kind = gradient ? is_gradient(a->kind) : a->kind == ONS_ACTION_FORWARD;
        if (kind && a->stage == stage && a->micro_batch == micro_batch) break;
    }
    return at;
}

uint32_t random_lists_in_flight(const ons_action_list *list, uint32_t stage) {
    uint32_t now = 0, most = 0;
    for (uint32_t i = 0; i < list->count; ++i) {
        if (list->items[i].stage != stage) continue;
        if (list->items[i].kind == ONS_ACTION_FORWARD && ++now > most) most = now;
        if (frees(list->items[i].kind)) --now;
    }
    return most;
}

/* Whether `a` needs `b`, of the same stage and micro-batch, to stand before it. */
static bool needs(const ons_action *a, const ons_action *b) {
    if (a->stage != b->stage || a->micro_batch != b->micro_batch) return false;
    if (is_gradient(a->kind)) return b->kind == ONS_ACTION_FORWARD;
    if (a->kind == ONS_ACTION_WEIGHT_GRADIENT) return b->kind == ONS_ACTION_INPUT_GRADIENT;
    return a->kind == ONS_ACTION_UPDATE && frees(b->kind);
}

static bool move_too_early(random_source *random, ons_action_list *list, uint32_t at, ons_action *action) {
    uint32_t needed = 0;
    *action = list->items[at];
    while (needed < at && !needs(action, &list->items[needed])) ++needed;
    if (needed == at) return false;
    insert(list, random_below(random, needed + 1), take(list, at));
    return true;
}

/* The forward part that comes after the stage's fullest moment comes right into it. */
static bool overrun(ons_action_list *list, uint32_t stage, ons_action *action) {
    uint32_t most = random_lists_in_flight(list, stage), now = 0, at = 0, next;
    for (; now < most; ++at) {
        if (list->items[at].stage != stage) continue;
        now += list->items[at].kind == ONS_ACTION_FORWARD;
        now -= frees(list->items[at].kind);
    }
    next = find(list, stage, list->items[at - 1].micro_batch + 1, false);
    if (next == list->count) return false;
    *action = take(list, next);
    insert(list, at, *action);
    return true;
}

/* Stage `stage` waits for a gradient before it makes what the next stage waits for before that gradient. */
static bool wait_in_a_circle(const ons_schedule *s, ons_action_list *list, uint32_t stage, uint32_t micro_batch,
                             ons_action *action) {
    for (uint32_t device = 0; device < s->devices; ++device) {
        const ons_action_list *other = &s->lists[device];
        uint32_t forward = find(other, stage + 1, micro_batch + 1, false);
        if (other == list || forward == other->count || forward > find(other, stage + 1, micro_batch, true)) continue;
        uint32_t mine = find(list, stage, micro_batch + 1, false), gradient = find(list, stage, micro_batch, true);
        if (mine > gradient) return false;
        if (micro_batch > 0 && find(list, stage, micro_batch - 1, true) > mine) return false;
        *action = take(list, gradient);
        insert(list, mine, *action);
        return true;
    }
    return false;
}

static ons_schedule copy_lists(const ons_schedule *s, ons_arena *arena) {
    ons_schedule copy = *s;
    copy.lists = ons_arena_allocate(arena, s->devices, sizeof *copy.lists);
    for (uint32_t i = 0; i < s->devices; ++i) {
        const ons_action_list *list = &s->lists[i];
        copy.lists[i] = (ons_action_list){ons_arena_allocate(arena, list->count + 1, sizeof *list->items), list->count};
        memcpy(copy.lists[i].items, list->items, list->count * sizeof *list->items);
    }
    return copy;
}

bool random_lists_damage(random_source *random, list_damage damage, ons_arena *arena, ons_schedule *s,
                         ons_action *action) {
    *s = copy_lists(s, arena);
    ons_action_list *list = &s->lists[random_below(random, s->devices)];
    uint32_t at = random_below(random, list->count), stage = list->items[at].stage;
    uint32_t micro_batch = list->items[at].micro_batch;
    switch (damage) {
    case ACTION_MISSING: *action = take(list, at); return true;
    case ACTION_TWICE:
        *action = list->items[at];
        insert(list, at + random_below(random, list->count - at + 1), *action);
        return true;
    case ACTION_TOO_EARLY: return move_too_early(random, list, at, action);
    case PLACE_OVERRUN: return overrun(list, stage, action);
    default: return wait_in_a_circle(s, list, stage, micro_batch, action);
    }
}
