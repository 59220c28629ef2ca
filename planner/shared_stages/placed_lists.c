#include "planner/shared_stages/placed_lists.h"

#include <math.h>

#include "planner/shared_stages/part_times.h"

typedef struct local_copy {
    uint32_t stage, copy;
} local_copy;

typedef struct device_state {
    local_copy *copies; /* ascending by stage */
    uint32_t count;
    double free_at;     /* seconds, or steps in lockstep, from the beginning */
    double wake;        /* where it found nothing to do: looks again then */
    ons_part_type last; /* forward or input gradient: what it did last */
} device_state;

typedef struct generator {
    const ons_placed_plan *plan; /* with the times that are chosen by */
    const ons_placed_order *order;
    ons_part_times times;
    device_state *devices;
    ons_action_list *lists;
    uint64_t left; /* parts */
    /* The part that some copies of a stage have come to while they wait for the others: one at a time, so that no two
     * wait for each other. */
    bool holding;
    ons_part_type held_type;
    uint32_t held_stage, held_part;
} generator;

typedef struct choice {
    ons_part_type type;
    const local_copy *of; /* NULL: nothing can run now, */
    double next;          /* but something can then */
} choice;

/* --------------------------------------------------------------------------------------------------------- choosing */

static bool has_room(const generator *g, const local_copy *c) {
    uint32_t copy = g->times.first_copy[c->stage] + c->copy;
    if (g->order->limits == NULL) return true;
    uint32_t held = g->times.done[ONS_PART_FORWARD][copy] - g->times.done[ONS_PART_WEIGHT][copy];
    return held < g->order->limits[c->stage];
}

static bool holds(const generator *g, ons_part_type type, uint32_t stage) {
    return g->plan->stages[stage].holds && type != ONS_PART_WEIGHT;
}

/* Copies that hold their devices for a collective come to one part at a time: with two begun, each could hold a device
 * that the other needs. */
static bool is_other_held(const generator *g, ons_part_type type, const local_copy *c) {
    if (!g->holding || !holds(g, type, c->stage)) return false;
    return g->held_type != type || g->held_stage != c->stage ||
           g->held_part != ons_part_next(&g->times, type, c->stage, c->copy);
}

/* True: taken. Else remembers when it could be. */
static bool consider(const generator *g, ons_part_type type, const local_copy *c, double now, choice *found) {
    if (type == ONS_PART_FORWARD && !has_room(g, c)) return false;
    if (!ons_part_is_left(&g->times, type, c->stage, c->copy) || is_other_held(g, type, c)) return false;
    double ready = ons_part_ready(&g->times, type, c->stage, c->copy);
    if (ready > now) {
        found->next = fmin(found->next, ready);
        return false;
    }
    found->type = type;
    found->of = c;
    return true;
}

enum { TOGETHER = 1, ALONE = 2 };

/* Chooses, of the device's stages of these kinds, the first that can run, in the order that is preferred for the type.
 */
static bool choose_among(const generator *g, const device_state *d, ons_part_type type, int kinds, double now,
                         choice *found) {
    bool back = type == ONS_PART_FORWARD ? g->order->forward_depth_first : g->order->backward_depth_first;
    for (uint32_t i = 0; i < d->count; ++i) {
        const local_copy *c = &d->copies[back ? d->count - 1 - i : i];
        if (kinds & (g->plan->stages[c->stage].together ? TOGETHER : ALONE) && consider(g, type, c, now, found))
            return true;
    }
    return false;
}

static bool choose_of_type(const generator *g, const device_state *d, ons_part_type type, double now, choice *found) {
    if (!g->order->together_first) return choose_among(g, d, type, TOGETHER | ALONE, now, found);
    return choose_among(g, d, type, TOGETHER, now, found) || choose_among(g, d, type, ALONE, now, found);
}

static ons_part_type preferred(const generator *g, const device_state *d) {
    if (g->order->type == ONS_INTERLEAVED) return d->last == ONS_PART_FORWARD ? ONS_PART_INPUT : ONS_PART_FORWARD;
    return g->order->type == ONS_FORWARD_FIRST ? ONS_PART_FORWARD : ONS_PART_INPUT;
}

/* Takes the preferred type where a part of it can run, then the other one. Weight gradients that were put off fill what
 * is left. */
static choice choose(const generator *g, const device_state *d, double now) {
    choice found = {.next = INFINITY};
    ons_part_type first = preferred(g, d), second = first == ONS_PART_FORWARD ? ONS_PART_INPUT : ONS_PART_FORWARD;
    (void)(choose_of_type(g, d, first, now, &found) || choose_of_type(g, d, second, now, &found) ||
           choose_of_type(g, d, ONS_PART_WEIGHT, now, &found));
    return found;
}

/* ------------------------------------------------------------------------------------------------------- generating */

static double seconds_of(const generator *g, ons_part_type type, const ons_placed_stage *s) {
    if (type == ONS_PART_FORWARD) return s->forward;
    if (type == ONS_PART_WEIGHT) return s->weight;
    return g->order->apart ? s->input : s->input + s->weight;
}

static ons_action_kind kind_of(const generator *g, ons_part_type type) {
    if (type == ONS_PART_FORWARD) return ONS_ACTION_FORWARD;
    if (type == ONS_PART_WEIGHT) return ONS_ACTION_WEIGHT_GRADIENT;
    return g->order->apart ? ONS_ACTION_INPUT_GRADIENT : ONS_ACTION_BACKWARD;
}

static void put(ons_action_list *list, ons_action_kind kind, const local_copy *c, uint32_t part) {
    list->items[list->count++] = (ons_action){.kind = kind, .stage = c->stage, .copy = c->copy, .micro_batch = part};
}

static void wake_stage(generator *g, uint32_t stage) {
    const ons_placed_stage *s = &g->plan->stages[stage];
    for (uint32_t i = 0; i < s->copies; ++i) g->devices[s->devices[i]].wake = 0;
}

/* Another copy, or a stage beside it, may be able to go on. */
static void wake_others(generator *g, ons_part_type type, uint32_t stage, uint32_t part) {
    const ons_part_times *t = &g->times;
    if (type == ONS_PART_WEIGHT || t->left[type][t->first_part[stage] + part] > 0) return;
    wake_stage(g, stage);
    for (uint32_t i = t->into_first[stage]; i < t->into_first[stage + 1]; ++i)
        wake_stage(g, g->plan->edges[t->into[i]].from);
    for (uint32_t i = t->out_first[stage]; i < t->out_first[stage + 1]; ++i)
        wake_stage(g, g->plan->edges[t->out[i]].to);
}

static void take_all_gradients(generator *g, const local_copy *c, double end) {
    ons_part_take(&g->times, ONS_PART_WEIGHT, c->stage, c->copy, end);
    --g->left;
}

/* The device stands still until the last copy has come; then all compute. */
static void take_held(generator *g, uint32_t device, const choice *x, double now) {
    const local_copy *c = x->of;
    const ons_placed_stage *s = &g->plan->stages[c->stage];
    const double *collectives = &s->collectives[x->type == ONS_PART_FORWARD ? ONS_BEFORE_FORWARD : ONS_BEFORE_BACKWARD];
    uint32_t part = ons_part_next(&g->times, x->type, c->stage, c->copy);
    double end = now + collectives[0] + seconds_of(g, x->type, s);
    ons_part_take(&g->times, x->type, c->stage, c->copy, end);
    g->holding = g->times.left[x->type][g->times.first_part[c->stage] + part] > 0;
    g->held_type = x->type;
    g->held_stage = c->stage;
    g->held_part = part;
    for (uint32_t i = 0; i < g->plan->devices; ++i) g->devices[i].wake = 0;
    g->devices[device].free_at = INFINITY;
    for (uint32_t i = 0; !g->holding && i < s->copies; ++i) g->devices[s->devices[i]].free_at = end + collectives[1];
}

/* Notes the part, and lets look again whoever may be able to go on by it. */
static void run_part(generator *g, uint32_t device, const choice *x, double now) {
    device_state *d = &g->devices[device];
    const local_copy *c = x->of;
    uint32_t part = ons_part_next(&g->times, x->type, c->stage, c->copy);
    put(&g->lists[device], kind_of(g, x->type), c, part);
    double end = now + seconds_of(g, x->type, &g->plan->stages[c->stage]);
    if (holds(g, x->type, c->stage)) {
        take_held(g, device, x, now);
    } else {
        d->free_at = end;
        ons_part_take(&g->times, x->type, c->stage, c->copy, end);
    }
    --g->left;
    if (x->type != ONS_PART_WEIGHT) d->last = x->type;
    if (x->type == ONS_PART_INPUT && !g->order->apart) take_all_gradients(g, c, end);
    wake_others(g, x->type, c->stage, part);
    d->wake = 0;
}

/* Gives each free device something to do. Returns when something changes. */
static double run_moment(generator *g, double now) {
    double next = INFINITY;
    for (uint32_t i = 0; i < g->plan->devices; ++i) {
        device_state *d = &g->devices[i];
        if (d->free_at > now || d->wake > now) continue;
        choice x = choose(g, d, now);
        d->wake = x.next;
        if (x.of != NULL) run_part(g, i, &x, now);
    }
    for (uint32_t i = 0; i < g->plan->devices; ++i)
        next = fmin(next, fmax(now, fmax(g->devices[i].free_at, g->devices[i].wake)));
    return next;
}

static ons_status *run_all(generator *g) {
    for (double now = 0; g->left > 0;) {
        now = run_moment(g, now);
        ONS_CHECK(now < INFINITY || g->left == 0, ONS_INVALID_ARGUMENT,
                  "no device can go on under these limits, with %llu parts left; allow more parts in flight",
                  (unsigned long long)g->left);
    }
    return NULL;
}

static ons_status *list_copies(generator *g, ons_arena *arena) {
    const ons_placed_plan *p = g->plan;
    ONS_NEW(g->devices, arena, p->devices);
    for (uint32_t i = 0; i < p->devices; ++i) ONS_NEW(g->devices[i].copies, arena, p->stage_count);
    for (uint32_t stage = 0; stage < p->stage_count; ++stage)
        for (uint32_t copy = 0; copy < p->stages[stage].copies; ++copy) {
            device_state *d = &g->devices[p->stages[stage].devices[copy]];
            d->copies[d->count++] = (local_copy){stage, copy};
            g->left += (uint64_t)ONS_PART_TYPES * ons_placed_copy_parts(p, stage, copy);
        }
    return NULL;
}

/* Makes a plan of the plan in which each part takes one tick and messages take none. */
static ons_status *make_lockstep(const ons_placed_plan *plan, bool apart, ons_arena *arena, ons_placed_plan *lockstep) {
    *lockstep = *plan;
    ONS_NEW(lockstep->stages, arena, plan->stage_count);
    ONS_NEW(lockstep->edges, arena, plan->edge_count);
    for (uint32_t i = 0; i < plan->stage_count; ++i) {
        lockstep->stages[i] = plan->stages[i];
        lockstep->stages[i].forward = lockstep->stages[i].input = 1;
        lockstep->stages[i].weight = apart ? 1 : 0;
        memset(lockstep->stages[i].collectives, 0, sizeof lockstep->stages[i].collectives);
    }
    for (uint32_t i = 0; i < plan->edge_count; ++i)
        lockstep->edges[i] = (ons_placed_edge){plan->edges[i].from, plan->edges[i].to, 0, 0};
    return NULL;
}

ons_status *ons_placed_lists_reserve(const ons_placed_plan *plan, ons_arena *arena, ons_action_list **lists) {
    uint32_t *counts;
    ONS_NEW(counts, arena, plan->devices);
    ONS_NEW(*lists, arena, plan->devices);
    for (uint32_t stage = 0; stage < plan->stage_count; ++stage)
        for (uint32_t copy = 0; copy < plan->stages[stage].copies; ++copy)
            counts[plan->stages[stage].devices[copy]] += ONS_PART_TYPES * ons_placed_copy_parts(plan, stage, copy) + 1;
    for (uint32_t i = 0; i < plan->devices; ++i) ONS_NEW((*lists)[i].items, arena, counts[i]);
    return NULL;
}

ons_status *ons_placed_lists_make(const ons_placed_plan *plan, const ons_placed_order *order, ons_arena *arena,
                                  ons_action_list **lists) {
    generator g = {.plan = plan, .order = order};
    ons_placed_plan lockstep;
    ONS_TRY(ons_placed_plan_check(plan));
    if (order->lockstep) {
        ONS_TRY(make_lockstep(plan, order->apart, arena, &lockstep));
        g.plan = &lockstep;
    }
    ONS_TRY(ons_placed_lists_reserve(plan, arena, lists));
    g.lists = *lists;
    ONS_TRY(list_copies(&g, arena));
    ONS_TRY(ons_part_times_make(g.plan, arena, &g.times));
    ONS_TRY(run_all(&g));
    for (uint32_t i = 0; i < plan->devices; ++i)
        for (uint32_t k = 0; k < g.devices[i].count; ++k) {
            const local_copy *c = &g.devices[i].copies[k];
            uint32_t parts = ons_placed_copy_parts(plan, c->stage, c->copy);
            put(&g.lists[i], ONS_ACTION_UPDATE, c, ons_placed_part_of(&plan->stages[c->stage], c->copy, parts - 1));
        }
    return NULL;
}

/* ----------------------------------------------------------------------------------------------------------- limits */

/* Samples in flight at the stages that the stage feeds, the most of them; 0: it feeds none. */
static int64_t behind(const ons_placed_plan *plan, uint32_t stage, const int64_t *samples) {
    int64_t most = 0;
    for (uint32_t i = 0; i < plan->edge_count; ++i)
        if (plan->edges[i].from == stage && samples[plan->edges[i].to] > most) most = samples[plan->edges[i].to];
    return most;
}

/* Goes from the last stage to the first. A stage has its own part in flight, and all samples that the stages behind it
 * have, or these would wait for it. Copies in turn share the parts. */
ons_status *ons_placed_limits(const ons_placed_plan *plan, uint32_t extra, ons_arena *arena, uint32_t **limits) {
    int64_t *samples;
    ONS_NEW(samples, arena, plan->stage_count);
    ONS_NEW(*limits, arena, plan->stage_count);
    for (uint32_t stage = plan->stage_count; stage-- > 0;) {
        const ons_placed_stage *s = &plan->stages[stage];
        int64_t more = behind(plan, stage, samples);
        samples[stage] = more + s->samples;
        int64_t allowed = samples[stage] + (more > 0 ? extra : extra > 0) * s->samples;
        int64_t parts = (allowed + s->samples - 1) / s->samples;
        if (!s->together) parts = (parts + s->copies - 1) / s->copies;
        (*limits)[stage] = (uint32_t)parts;
    }
    return NULL;
}
