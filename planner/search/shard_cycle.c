#include "planner/search/shard_cycle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "planner/shared_stages/placed_lists.h"

/* Sweeps over all devices, and stages that are passed in all; most searches are at their end before. */
enum { MOST_SWEEPS = 12, MOST_PASSED = 2000000 };

/* Orders with which micro-batches get through so much later, in periods, are not looked at more closely. */
static const double NEAR = 1;

static const double LESS = 1e-9; /* of the period: what counts as sooner */

/* A part is a stage's forward part (its number is the stage's) or its backward part (stages more). */
typedef struct device_cycle {
    uint32_t *parts; /* in their order; NO_PART: nothing is run, for what the device has over */
    uint32_t count;
    double begins; /* seconds from the period's beginning to the first of them */
    double idle;   /* seconds of the period in which the device computes nothing */
} device_cycle;

enum { NO_PART = UINT32_MAX };

typedef struct cycle_search {
    const ons_placed_plan *plan;
    uint32_t stages;
    double period;        /* seconds */
    double waiting;       /* ons_shard_cycle.waiting */
    double frequency;     /* 1 / period */
    double *forth, *back; /* [edge]: seconds of its messages; 0 within a device */
    device_cycle *devices;
    double *seconds; /* [part]: how long it computes */
    double *offset;  /* [part]: seconds from the period's beginning to the part's */
    double *ready;   /* [part]: when the first micro-batch could begin it, in seconds from the step's beginning */
    double *start;   /* [part]: when its device comes to it with the first micro-batch, on the same clock */
    double *known;   /* [part]: `ready` in the best way so far */
    double *spare;   /* [part]: room in which a trial keeps its own `known` */
    uint32_t *trial; /* room for a device's order that is tried */
    uint64_t random, tried;
} cycle_search;

static uint32_t stage_of(const cycle_search *s, uint32_t part) { return part < s->stages ? part : part - s->stages; }

static uint32_t part_device(const cycle_search *s, uint32_t part) {
    return s->plan->stages[stage_of(s, part)].devices[0];
}

/* ---------------------------------------------------------------------------------------------------------- one way */

static double seconds_of(const cycle_search *s, const device_cycle *d, uint32_t part) {
    return part == NO_PART ? d->idle : s->seconds[part];
}

static void place(cycle_search *s, const device_cycle *d) {
    double at = d->begins;
    for (uint32_t i = 0; i < d->count; ++i) {
        if (d->parts[i] != NO_PART) s->offset[d->parts[i]] = at;
        at += seconds_of(s, d, d->parts[i]);
    }
}

/* When the device comes to the part for the first time after it is ready: `ready` rounded up to the part's place in a
 * period. A part that is late by no more than rounding (LESS) still catches that period, else equal times would cost a
 * whole one. Conversion to an integer rounds towards 0, so one is added where something was cut off. */
static void start_part(cycle_search *s, uint32_t part) {
    double periods = (s->ready[part] - s->offset[part]) * s->frequency - LESS;
    int64_t whole = (int64_t)periods; /* towards 0 */
    s->start[part] = s->offset[part] + (double)(whole + (periods > (double)whole)) * s->period;
}

static void wait_for(cycle_search *s, uint32_t part, uint32_t other, double message) {
    double come = s->start[other] + s->seconds[other] + message;
    if (come > s->ready[part]) s->ready[part] = come;
}

/* Follows the first micro-batch forth and back through all stages. One pass each way is enough: edges lead to later
 * stages, and are listed by the stage where they begin. */
static void follow(cycle_search *s) {
    const ons_placed_plan *p = s->plan;
    ++s->tried;
    for (uint32_t i = 0; i < 2 * s->stages; ++i) s->ready[i] = 0;
    for (uint32_t stage = 0, e = 0; stage < s->stages; ++stage) {
        start_part(s, stage);
        for (; e < p->edge_count && p->edges[e].from == stage; ++e) wait_for(s, p->edges[e].to, stage, s->forth[e]);
    }
    for (uint32_t stage = s->stages, e = p->edge_count; stage-- > 0;) {
        wait_for(s, s->stages + stage, stage, 0);
        for (; e > 0 && p->edges[e - 1].from == stage; --e)
            wait_for(s, s->stages + stage, s->stages + p->edges[e - 1].to, s->back[e - 1]);
        start_part(s, s->stages + stage);
    }
}

/* What the search makes small, in seconds: the whole way of a micro-batch, which is how long a pipeline takes to fill
 * and drain; and, by `waiting`, the mean time that a stage keeps a micro-batch, which is how many it has in flight, and
 * so memory. */
static double cost(cycle_search *s) {
    double first = INFINITY, last = 0, kept = 0;
    follow(s);
    for (uint32_t i = 0; i < s->stages; ++i) {
        double end = s->start[s->stages + i] + s->seconds[s->stages + i];
        if (s->start[i] < first) first = s->start[i];
        if (end > last) last = end;
        kept += end - s->start[i];
    }
    return last - first + s->waiting * kept / s->stages;
}

/* ----------------------------------------------------------------------------------------------------------- search */

/* Remembers when parts are ready in the way that was just followed, for try_beginnings. */
static void know(cycle_search *s) { memcpy(s->known, s->ready, 2 * (size_t)s->stages * sizeof *s->known); }

/* The device begins so that it comes to one of its parts the moment that this is ready. */
static void try_beginnings(cycle_search *s, device_cycle *d, double *best, bool *improved) {
    for (uint32_t i = 0; i < d->count; ++i) {
        double before = d->begins;
        if (d->parts[i] == NO_PART) continue;
        double begins = before + s->known[d->parts[i]] - s->offset[d->parts[i]];
        d->begins = begins - s->period * floor(begins / s->period);
        if (d->begins == before) continue;
        place(s, d);
        double now = cost(s);
        if (now < *best - LESS * s->period) {
            *best = now;
            *improved = true;
            know(s);
            continue;
        }
        d->begins = before;
        place(s, d);
    }
}

/* Writes the device's order with the part at `from` taken out and put in at place `to`. */
static void move_part(const device_cycle *d, uint32_t from, uint32_t to, uint32_t *order) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < d->count; ++i) {
        if (i == from) continue;
        if (count == to) order[count++] = d->parts[from];
        order[count++] = d->parts[i];
    }
    if (count == to) order[count] = d->parts[from];
}

/* Tries each part at each other place in the device's order. A new order seldom suits the old beginning, so before it
 * is judged, orders that are not much worse (NEAR) may choose another one. What `known` says belongs to the order that
 * is kept, so a trial writes its own. */
static void try_moves(cycle_search *s, device_cycle *d, double *best, bool *improved) {
    for (uint32_t from = 0; from < d->count; ++from)
        for (uint32_t to = 0; to < d->count; ++to) {
            uint32_t *before = d->parts;
            double begins = d->begins, now;
            bool better = false;
            if (from == to) continue;
            move_part(d, from, to, s->trial);
            d->parts = s->trial;
            place(s, d);
            now = cost(s);
            double *known = s->known;
            s->known = s->spare;
            know(s);
            if (now < *best + NEAR * s->period) try_beginnings(s, d, &now, &better);
            if (now < *best - LESS * s->period) {
                *best = now;
                *improved = true;
                s->trial = before;
                s->spare = known;
                continue;
            }
            d->parts = before;
            d->begins = begins;
            s->spare = s->known;
            s->known = known;
            place(s, d);
        }
}

/* Goes over the devices until a whole sweep finds nothing sooner, or the budget is used up. */
static void improve(cycle_search *s) {
    bool improved = true;
    double best = cost(s);
    know(s);
    for (uint32_t sweep = 0; improved && sweep < MOST_SWEEPS; ++sweep) {
        improved = false;
        for (uint32_t i = 0; i < s->plan->devices && s->tried * s->stages < MOST_PASSED; ++i) {
            try_beginnings(s, &s->devices[i], &best, &improved);
            try_moves(s, &s->devices[i], &best, &improved);
        }
    }
}

/* -------------------------------------------------------------------------------------------------------- beginning */

/* Draws a number by a linear congruential generator: the same beginning gives the same lists on every machine. */
static uint32_t by_chance(cycle_search *s, uint32_t bound) {
    s->random = s->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((s->random >> 33) % bound);
}

static void shuffle(cycle_search *s, device_cycle *d) {
    for (uint32_t i = d->count; i > 1; --i) {
        uint32_t k = by_chance(s, i), swap = d->parts[i - 1];
        d->parts[i - 1] = d->parts[k];
        d->parts[k] = swap;
    }
    d->begins = s->period * by_chance(s, 1024) / 1024;
}

/* Finds the seconds of each edge's message: a part that reads it is ready so much later than it was made. */
static ons_status *find_messages(cycle_search *s, ons_arena *arena) {
    const ons_placed_plan *p = s->plan;
    ONS_NEW(s->forth, arena, p->edge_count);
    ONS_NEW(s->back, arena, p->edge_count);
    for (uint32_t i = 0; i < p->edge_count; ++i) {
        s->forth[i] = ons_placed_message(p, &p->edges[i], false, 0, 0);
        s->back[i] = ons_placed_message(p, &p->edges[i], true, 0, 0);
    }
    return NULL;
}

/* Forward parts as they follow each other, then backward parts, then what is over. */
static ons_status *begin(cycle_search *s, const ons_shard_cycle *cycle, ons_arena *arena) {
    const ons_placed_plan *p = s->plan;
    uint32_t parts = 2 * s->stages;
    ONS_NEW(s->devices, arena, p->devices);
    ONS_NEW(s->seconds, arena, parts);
    ONS_NEW(s->offset, arena, parts);
    ONS_NEW(s->ready, arena, parts);
    ONS_NEW(s->start, arena, parts);
    ONS_NEW(s->known, arena, parts);
    ONS_NEW(s->spare, arena, parts);
    ONS_NEW(s->trial, arena, (size_t)parts + 1);
    for (uint32_t i = 0; i < p->devices; ++i) ONS_NEW(s->devices[i].parts, arena, (size_t)parts + 1);
    for (uint32_t i = 0; i < parts; ++i) {
        bool back = i >= s->stages;
        uint32_t stage = back ? parts - 1 - i : i, part = back ? s->stages + stage : stage;
        device_cycle *d = &s->devices[part_device(s, part)];
        s->seconds[part] = back ? p->stages[stage].input + p->stages[stage].weight : p->stages[stage].forward;
        d->parts[d->count++] = part;
        d->idle += s->seconds[part];
        s->period = fmax(s->period, d->idle);
    }
    s->period = s->period > 0 ? s->period * (1 + cycle->slack) : 1;
    s->frequency = 1 / s->period;
    for (uint32_t i = 0; i < p->devices; ++i) {
        device_cycle *d = &s->devices[i];
        d->idle = s->period - d->idle;
        d->parts[d->count++] = NO_PART;
        if (cycle->beginning > 0) shuffle(s, d);
        place(s, d);
    }
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------------ lists */

typedef struct timed_action {
    double start;
    uint32_t rank; /* of those that start at once: as data flows, forward parts by rising stage, then back */
    ons_action action;
} timed_action;

static int by_start(const void *left, const void *right) {
    const timed_action *a = left, *b = right;
    if (a->start != b->start) return a->start < b->start ? -1 : 1;
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

/* Makes a device's list of all parts of all micro-batches in the order in which the cycle would start them: a part of
 * micro-batch m starts m periods behind that of the first. Only the order is kept; the simulator finds real times. */
static ons_status *write_lists(const cycle_search *s, ons_arena *arena, ons_action_list *lists) {
    const ons_placed_plan *p = s->plan;
    uint32_t batch = (uint32_t)p->batch;
    for (uint32_t device = 0; device < p->devices; ++device) {
        const device_cycle *d = &s->devices[device];
        timed_action *actions;
        uint32_t count = 0;
        ONS_NEW(actions, arena, (size_t)d->count * batch);
        for (uint32_t i = 0; i < d->count; ++i) {
            uint32_t part = d->parts[i];
            bool back = part >= s->stages;
            for (uint32_t m = 0; part != NO_PART && m < batch; ++m)
                actions[count++] = (timed_action){.start = s->start[part] + m * s->period,
                                                  .rank = back ? 3 * s->stages - part : part,
                                                  .action = {.kind = back ? ONS_ACTION_BACKWARD : ONS_ACTION_FORWARD,
                                                             .stage = stage_of(s, part),
                                                             .micro_batch = m}};
        }
        qsort(actions, count, sizeof *actions, by_start);
        ons_action_list *list = &lists[device];
        for (uint32_t i = 0; i < count; ++i) list->items[list->count++] = actions[i].action;
        for (uint32_t stage = 0; stage < s->stages; ++stage)
            if (part_device(s, stage) == device)
                list->items[list->count++] =
                    (ons_action){.kind = ONS_ACTION_UPDATE, .stage = stage, .micro_batch = batch - 1};
    }
    return NULL;
}

ons_status *ons_shard_cycle_lists(const ons_placed_plan *plan, const ons_shard_cycle *cycle, ons_arena *arena,
                                  ons_action_list **lists, uint64_t *tried) {
    cycle_search s = {.plan = plan, .stages = plan->stage_count, .waiting = cycle->waiting, .random = cycle->beginning};
    ONS_TRY(ons_placed_lists_reserve(plan, arena, lists));
    ONS_TRY(find_messages(&s, arena));
    ONS_TRY(begin(&s, cycle, arena));
    improve(&s);
    follow(&s);
    *tried += s.tried;
    return write_lists(&s, arena, *lists);
}
