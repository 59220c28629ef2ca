#include "tests/rooms/planner/random_groupings.h"

/* ----------------------------------------------------------------------------------------------------------- making */

static void choose_groupings(random_source *random, random_groupings *r, ons_arena *arena) {
    static const uint32_t units[] = {1, 2, 4, 6, 8, 12};
    ons_schedule *s = &r->s;
    s->micro_batches = units[random_below(random, 6)];
    ons_stage_grouping *g = ons_arena_allocate(arena, s->stages, sizeof *g);
    for (uint32_t i = 0; i < s->stages; ++i) {
        do {
            g[i] = (ons_stage_grouping){1 + random_below(random, 4), 1 + random_below(random, 3), 1};
        } while (s->micro_batches % (g[i].size * g[i].copies) != 0);
        r->first_device[i] = s->devices;
        bool like = i > 0 && g[i - 1].copies == 1 && g[i].copies == 1 && random_chance(random, 0.5);
        if (like) {
            g[i].size = g[i - 1].size;
            r->first_device[i] = r->first_device[i - 1];
        } else {
            s->devices += g[i].copies;
        }
    }
    s->groupings = g;
}

static void choose_edges(random_source *random, random_groupings *r, bool line, ons_arena *arena) {
    uint32_t stages = r->s.stages;
    r->edges = ons_arena_allocate(arena, (size_t)stages * stages + 1, sizeof *r->edges);
    for (uint32_t from = 0; from < stages; ++from)
        for (uint32_t to = from + 1; to < stages; ++to) {
            if (line ? to != from + 1 : random_chance(random, 0.4)) continue;
            r->edges[r->edge_count++] = (ons_stage_edge){.from = from,
                                                         .to = to,
                                                         .gradient = line || random_chance(random, 0.8),
                                                         .detached = !line && random_chance(random, 0.3),
                                                         .ahead = random_below(random, 7)};
        }
}

/* What has been done while lists are made. */
typedef struct progress {
    uint32_t forward, backward; /* of a copy, in its micro-batches */
} progress;

typedef struct maker {
    random_groupings *r;
    progress **copies;       /* [stage][copy] */
    bool **made, **returned; /* [stage][unit]: by forward, by backward parts */
    bool hopeful;
} maker;

static bool all_of(const bool *units, uint32_t first, uint32_t size) {
    for (uint32_t i = 0; i < size; ++i)
        if (!units[first + i]) return false;
    return true;
}

static bool can_run(const maker *m, uint32_t stage, uint32_t copy, bool backward) {
    ons_stage_grouping g = m->r->s.groupings[stage];
    const progress *p = &m->copies[stage][copy];
    uint32_t number = backward ? p->backward : p->forward, first = (number * g.copies + copy) * g.size;
    if (backward ? number == p->forward : number == m->r->s.micro_batches / (g.size * g.copies)) return false;
    for (uint32_t i = 0; m->hopeful && i < m->r->edge_count; ++i) {
        const ons_stage_edge *e = &m->r->edges[i];
        if (!backward && e->to == stage && !all_of(m->made[e->from], first, g.size)) return false;
        if (backward && e->gradient && e->from == stage && !all_of(m->returned[e->to], first, g.size)) return false;
    }
    return true;
}

static void run(const maker *m, uint32_t stage, uint32_t copy, bool backward) {
    ons_stage_grouping g = m->r->s.groupings[stage];
    progress *p = &m->copies[stage][copy];
    ons_action_list *list = &m->r->s.lists[m->r->first_device[stage] + copy];
    uint32_t number = backward ? p->backward++ : p->forward++;
    for (uint32_t i = 0; i < g.size; ++i)
        (backward ? m->returned : m->made)[stage][(number * g.copies + copy) * g.size + i] = true;
    ons_action a = {backward ? ONS_ACTION_BACKWARD : ONS_ACTION_FORWARD, stage, copy, number, false};
    list->items[list->count++] = a;
    a.kind = ONS_ACTION_UPDATE;
    if (backward && p->backward == m->r->s.micro_batches / (g.size * g.copies)) list->items[list->count++] = a;
}

static bool run_one(random_source *random, const maker *m) {
    double best = -1;
    uint32_t stage = 0, copy = 0;
    bool backward = false;
    for (uint32_t i = 0; i < m->r->s.stages; ++i)
        for (uint32_t c = 0; c < m->r->s.groupings[i].copies; ++c)
            for (int back = 0; back < 2; ++back) {
                double preference = random_unit(random);
                if (preference <= best || !can_run(m, i, c, back == 1)) continue;
                best = preference, stage = i, copy = c, backward = back == 1;
            }
    if (best >= 0) run(m, stage, copy, backward);
    return best >= 0;
}

random_groupings random_groupings_make(random_source *random, bool line, bool hopeful, ons_arena *arena) {
    random_groupings r = {.s = {.stages = 1 + random_below(random, 5)}};
    r.first_device = ons_arena_allocate(arena, r.s.stages, sizeof *r.first_device);
    choose_groupings(random, &r, arena);
    choose_edges(random, &r, line, arena);
    r.s.lists = ons_arena_allocate(arena, r.s.devices, sizeof *r.s.lists);
    for (uint32_t i = 0; i < r.s.devices; ++i)
        r.s.lists[i].items =
            ons_arena_allocate(arena, (size_t)r.s.stages * (2 * r.s.micro_batches + 1), sizeof *r.s.lists[i].items);
    maker m = {.r = &r, .hopeful = hopeful};
    m.copies = ons_arena_allocate(arena, r.s.stages, sizeof *m.copies);
    m.made = ons_arena_allocate(arena, r.s.stages, sizeof *m.made);
    m.returned = ons_arena_allocate(arena, r.s.stages, sizeof *m.returned);
    for (uint32_t i = 0; i < r.s.stages; ++i) {
        m.copies[i] = ons_arena_allocate(arena, r.s.groupings[i].copies, sizeof *m.copies[i]);
        m.made[i] = ons_arena_allocate(arena, r.s.micro_batches, sizeof *m.made[i]);
        m.returned[i] = ons_arena_allocate(arena, r.s.micro_batches, sizeof *m.returned[i]);
    }
    while (run_one(random, &m)) continue;
    return r;
}

/* ---------------------------------------------------------------------------------------------------------- running */

typedef enum message_state { UNMADE, WAITS, CAME } message_state;

typedef struct runner {
    const random_groupings *r;
    uint32_t *next;        /* [device] */
    message_state **state; /* [edge · 2 + back][unit] */
} runner;

static const ons_action *action_of(const runner *x, uint32_t device) {
    return x->next[device] < x->r->s.lists[device].count ? &x->r->s.lists[device].items[x->next[device]] : NULL;
}

/* The copy that has the unit. */
static uint32_t copy_of(const runner *x, uint32_t stage, uint32_t unit) {
    ons_stage_grouping g = x->r->s.groupings[stage];
    return unit / g.size % g.copies;
}

/* Behind the units that the copy has come to reading: where the first one begins that it has not. */
static uint32_t come_to(const runner *x, uint32_t stage, uint32_t copy, bool back) {
    uint32_t device = x->r->first_device[stage] + copy, come = 0;
    const ons_action_list *list = &x->r->s.lists[device];
    for (uint32_t i = 0; i <= x->next[device] && i < list->count; ++i)
        come +=
            list->items[i].stage == stage && list->items[i].kind == (back ? ONS_ACTION_BACKWARD : ONS_ACTION_FORWARD);
    ons_stage_grouping g = x->r->s.groupings[stage];
    return (come * g.copies + copy) * g.size;
}

/* Whether the unit has room at its receiver, and goes before no other of its sender's. */
static bool can_come(const runner *x, const ons_stage_edge *e, bool back, const message_state *state, uint32_t unit) {
    uint32_t sender = back ? e->to : e->from, receiver = back ? e->from : e->to;
    for (uint32_t i = 0; i < unit; ++i)
        if (state[i] == WAITS && copy_of(x, sender, i) == copy_of(x, sender, unit)) return false;
    if (x->r->first_device[sender] == x->r->first_device[receiver]) return true;
    return unit < come_to(x, receiver, copy_of(x, receiver, unit), back) + e->ahead;
}

static bool move_messages(const runner *x) {
    bool moved = false;
    for (uint32_t i = 0; i < 2 * x->r->edge_count; ++i)
        for (uint32_t unit = 0; unit < x->r->s.micro_batches; ++unit) {
            message_state *state = x->state[i];
            if (state[unit] != WAITS || !can_come(x, &x->r->edges[i / 2], i % 2 == 1, state, unit)) continue;
            state[unit] = CAME;
            moved = true;
        }
    return moved;
}

/* Whether the device waits for what it has sent. */
static bool is_held(const runner *x, uint32_t device) {
    for (uint32_t i = 0; i < 2 * x->r->edge_count; ++i) {
        const ons_stage_edge *e = &x->r->edges[i / 2];
        uint32_t sender = i % 2 == 1 ? e->to : e->from;
        for (uint32_t unit = 0; !e->detached && unit < x->r->s.micro_batches; ++unit)
            if (x->state[i][unit] == WAITS && x->r->first_device[sender] + copy_of(x, sender, unit) == device)
                return true;
    }
    return false;
}

/* `sends`: marks what the action makes; otherwise asks whether all that it reads has come. */
static bool exchange(const runner *x, const ons_action *a, bool sends) {
    bool back = a->kind == ONS_ACTION_BACKWARD;
    for (uint32_t i = 0; a->kind != ONS_ACTION_UPDATE && i < x->r->edge_count; ++i) {
        const ons_stage_edge *e = &x->r->edges[i];
        uint32_t here = sends == back ? e->to : e->from;
        if (here != a->stage || (back && !e->gradient)) continue;
        ons_stage_grouping g = x->r->s.groupings[a->stage];
        for (uint32_t unit = 0; unit < x->r->s.micro_batches; ++unit) {
            if (unit / g.size != a->micro_batch * g.copies + a->copy) continue;
            if (sends)
                x->state[2 * i + back][unit] = WAITS;
            else if (x->state[2 * i + back][unit] != CAME)
                return false;
        }
    }
    return true;
}

static bool move_device(const runner *x, uint32_t device) {
    const ons_action *a = action_of(x, device);
    if (a == NULL || is_held(x, device) || !exchange(x, a, false)) return false;
    exchange(x, a, true);
    ++x->next[device];
    return true;
}

bool random_groupings_run(const random_groupings *r, ons_arena *arena) {
    runner x = {.r = r};
    x.next = ons_arena_allocate(arena, r->s.devices, sizeof *x.next);
    x.state = ons_arena_allocate(arena, 2 * r->edge_count + 1, sizeof *x.state);
    for (uint32_t i = 0; i < 2 * r->edge_count; ++i)
        x.state[i] = ons_arena_allocate(arena, r->s.micro_batches, sizeof *x.state[i]);
    for (bool moved = true; moved;) {
        moved = move_messages(&x);
        for (uint32_t device = 0; device < r->s.devices; ++device) moved |= move_device(&x, device);
    }
    for (uint32_t device = 0; device < r->s.devices; ++device)
        if (action_of(&x, device) != NULL || is_held(&x, device)) return false;
    return true;
}

uint32_t random_groupings_in_flight(const random_groupings *r, uint32_t stage, uint32_t copy) {
    const ons_action_list *list = &r->s.lists[r->first_device[stage] + copy];
    uint32_t now = 0, most = 0;
    for (uint32_t i = 0; i < list->count; ++i) {
        if (list->items[i].stage != stage) continue;
        now += list->items[i].kind == ONS_ACTION_FORWARD;
        if (now > most) most = now;
        now -= list->items[i].kind == ONS_ACTION_BACKWARD;
    }
    return most;
}
