#include "planner/shared_stages/placed_simulation.h"

#include <stdlib.h>

#include "planner/shared_stages/part_times.h"
#include "planner/shared_stages/placed_lists.h"

enum { WAYS = 2 }; /* forward parts; input gradients */

/* A part on all its copies: arrived ─[before]─▶ go ─▶ computations ─▶ computed ─[after]─▶ over. Tasks of no time. */
typedef struct part_marks {
    ons_task_id arrived, go, computed, over;
} part_marks;

/* A message, a collective or a sum: between two marks. */
typedef struct exchange {
    ons_task_id begin, end;
    const uint32_t *devices;
    uint32_t count;
    bool message; /* from the first device to the second */
    double seconds;
    ons_action action;
    uint32_t place; /* in an order in which they can begin */
} exchange;

typedef struct simulator {
    const ons_placed_plan *plan;
    const ons_action_list *lists;
    ons_arena *arena;
    ons_simulation *s;
    ons_part_times numbers;                           /* of parts and copies, and edges by stage */
    ons_resource_id *compute, *send, *receive, *join; /* [device] */
    part_marks *marks[WAYS];                          /* [part of all] */
    ons_task_id *last;                                /* [device]: of its compute stream */
    ons_task_id *last_gradient, *update;              /* [copy of all] */
    double *busy;                                     /* [device] */
    exchange *exchanges;
    size_t count;
} simulator;

static ons_status *add_task(simulator *x, const ons_action *a, ons_resource_id resource, double seconds,
                            ons_task_id *id) {
    const ons_task_spec spec = {.name = ons_action_name(a->kind),
                                .action = *a,
                                .resource = resource,
                                .second_resource = ONS_NO_RESOURCE,
                                .seconds = seconds};
    return ons_simulation_add_task(x->s, &spec, id);
}

static ons_status *wait_for(simulator *x, ons_task_id task, ons_task_id before) {
    return before == ONS_NO_TASK ? NULL : ons_simulation_add_dependency(x->s, before, task, 0);
}

/* ------------------------------------------------------------------------------------------------------------ marks */

/* Marks stand between what a stage computes and what it exchanges, so that neither need know the other's tasks. Where
 * no collective lies between two marks, the second follows the first at once. */
static ons_status *mark_part(simulator *x, uint32_t stage, uint32_t part, uint32_t way) {
    const ons_placed_stage *s = &x->plan->stages[stage];
    part_marks *m = &x->marks[way][x->numbers.first_part[stage] + part];
    ons_action a = {way == 0 ? ONS_ACTION_FORWARD : ONS_ACTION_INPUT_GRADIENT, stage, 0, part, false};
    ONS_TRY(add_task(x, &a, ONS_NO_RESOURCE, 0, &m->arrived));
    ONS_TRY(add_task(x, &a, ONS_NO_RESOURCE, 0, &m->go));
    ONS_TRY(add_task(x, &a, ONS_NO_RESOURCE, 0, &m->computed));
    ONS_TRY(add_task(x, &a, ONS_NO_RESOURCE, 0, &m->over));
    bool before = s->collectives[way == 0 ? ONS_BEFORE_FORWARD : ONS_BEFORE_BACKWARD] > 0;
    bool after = s->collectives[way == 0 ? ONS_AFTER_FORWARD : ONS_AFTER_BACKWARD] > 0;
    if (!before || s->holds) ONS_TRY(wait_for(x, m->go, m->arrived));
    if (!after && !s->holds) ONS_TRY(wait_for(x, m->over, m->computed));
    return NULL;
}

static ons_status *mark_all(simulator *x) {
    const ons_placed_plan *p = x->plan;
    for (uint32_t way = 0; way < WAYS; ++way) {
        ONS_NEW(x->marks[way], x->arena, x->numbers.first_part[p->stage_count]);
        for (uint32_t stage = 0; stage < p->stage_count; ++stage)
            for (uint32_t part = 0; part < ons_placed_parts(p, stage); ++part) ONS_TRY(mark_part(x, stage, part, way));
    }
    return NULL;
}

static part_marks *marks_of(const simulator *x, uint32_t way, uint32_t stage, uint32_t part) {
    return &x->marks[way][x->numbers.first_part[stage] + part];
}

/* A backward part waits for its forward part's end on all copies. */
static ons_status *add_orders(simulator *x) {
    for (uint32_t i = 0; i < x->numbers.first_part[x->plan->stage_count]; ++i)
        ONS_TRY(wait_for(x, x->marks[1][i].arrived, x->marks[0][i].over));
    return NULL;
}

/* ----------------------------------------------------------------------------------------------------- computations */

static ons_status *compute(simulator *x, uint32_t device, const ons_action *a, double seconds, int64_t start_bytes,
                           int64_t end_bytes, ons_task_id *id) {
    const ons_task_spec spec = {.name = ons_action_name(a->kind),
                                .action = *a,
                                .resource = x->compute[device],
                                .second_resource = ONS_NO_RESOURCE,
                                .seconds = seconds,
                                .start_bytes = start_bytes,
                                .end_bytes = end_bytes};
    ONS_TRY(ons_simulation_add_task(x->s, &spec, id));
    x->last[device] = *id;
    x->busy[device] += seconds;
    return NULL;
}

/* A collective that holds the devices stands in their lists beside the part, and begins when all have come to it. */
static ons_status *add_holding_collective(simulator *x, uint32_t device, const ons_action *a, double seconds,
                                          ons_task_id begin, ons_task_id *end) {
    ONS_TRY(wait_for(x, begin, x->last[device]));
    ONS_TRY(add_task(x, &(ons_action){ONS_ACTION_ALL_REDUCE, a->stage, a->copy, a->micro_batch, false},
                     x->compute[device], seconds, end));
    ONS_TRY(wait_for(x, *end, begin));
    x->last[device] = *end;
    return NULL;
}

/* Adds a part of one copy. It waits for the mark that all copies go by, and the mark behind it waits for all of them.
 * Memory for what is saved is taken by the forward part, and freed by the part that ends the gradients. */
static ons_status *add_part(simulator *x, uint32_t device, const ons_action *a, uint32_t way, double seconds,
                            ons_task_id *id) {
    const ons_placed_stage *s = &x->plan->stages[a->stage];
    const part_marks *m = marks_of(x, way, a->stage, a->micro_batch);
    const double *collectives = &s->collectives[way == 0 ? ONS_BEFORE_FORWARD : ONS_BEFORE_BACKWARD];
    int64_t saved = way == 0 ? s->saved_bytes : 0, freed = a->kind == ONS_ACTION_BACKWARD ? s->saved_bytes : 0;
    ons_task_id held;
    if (s->holds) ONS_TRY(add_holding_collective(x, device, a, collectives[0], m->arrived, &held));
    ONS_TRY(compute(x, device, a, seconds, saved, -freed, id));
    ONS_TRY(wait_for(x, *id, m->go));
    ONS_TRY(wait_for(x, m->computed, *id));
    if (!s->holds) return NULL;
    ONS_TRY(add_holding_collective(x, device, a, collectives[1], m->computed, &held));
    return wait_for(x, m->over, held);
}

static ons_status *add_action(simulator *x, uint32_t device, const ons_action *a) {
    const ons_placed_stage *s = &x->plan->stages[a->stage];
    uint32_t copy = x->numbers.first_copy[a->stage] + a->copy;
    ons_task_id id;
    switch ((int)a->kind) {
    case ONS_ACTION_FORWARD: return add_part(x, device, a, 0, s->forward, &id);
    case ONS_ACTION_INPUT_GRADIENT: return add_part(x, device, a, 1, s->input, &id);
    case ONS_ACTION_BACKWARD: return add_part(x, device, a, 1, s->input + s->weight, &x->last_gradient[copy]);
    case ONS_ACTION_WEIGHT_GRADIENT:
        return compute(x, device, a, s->weight, 0, -s->saved_bytes, &x->last_gradient[copy]);
    default: return compute(x, device, a, s->update, 0, 0, &x->update[copy]); /* the lists are checked */
    }
}

static ons_status *add_devices(simulator *x) {
    uint32_t devices = x->plan->devices, copies = x->numbers.first_copy[x->plan->stage_count];
    ONS_NEW(x->compute, x->arena, devices);
    ONS_NEW(x->send, x->arena, devices);
    ONS_NEW(x->receive, x->arena, devices);
    ONS_NEW(x->join, x->arena, devices);
    ONS_NEW(x->last, x->arena, devices);
    ONS_NEW(x->busy, x->arena, devices);
    ONS_NEW(x->last_gradient, x->arena, copies);
    ONS_NEW(x->update, x->arena, copies);
    for (uint32_t i = 0; i < devices; ++i) {
        ONS_TRY(ons_simulation_add_resource(x->s, i, "compute", &x->compute[i]));
        ONS_TRY(ons_simulation_add_resource(x->s, i, "send", &x->send[i]));
        ONS_TRY(ons_simulation_add_resource(x->s, i, "receive", &x->receive[i]));
        ONS_TRY(ons_simulation_add_resource(x->s, i, "collective", &x->join[i]));
        x->last[i] = ONS_NO_TASK;
    }
    return NULL;
}

static ons_status *set_memory(simulator *x) {
    int64_t *held;
    ONS_NEW(held, x->arena, x->plan->devices);
    for (uint32_t i = 0; i < x->plan->stage_count; ++i)
        for (uint32_t k = 0; k < x->plan->stages[i].copies; ++k)
            held[x->plan->stages[i].devices[k]] += x->plan->stages[i].held_bytes;
    for (uint32_t i = 0; i < x->plan->devices; ++i) ONS_TRY(ons_simulation_set_memory(x->s, i, held[i]));
    return NULL;
}

/* -------------------------------------------------------------------------------------------------------- exchanges */

static void note(simulator *x, exchange e) { x->exchanges[x->count++] = e; }

/* ons_collective has two for each way, before and behind the computing: so i / 2 is the way, and i mod 2 says between
 * which marks. */
static void list_collectives(simulator *x, uint32_t stage) {
    const ons_placed_stage *s = &x->plan->stages[stage];
    for (uint32_t part = 0; part < ons_placed_parts(x->plan, stage) && !s->holds; ++part)
        for (uint32_t i = 0; i < ONS_COLLECTIVES; ++i) {
            const part_marks *m = marks_of(x, i / 2, stage, part);
            if (s->collectives[i] == 0) continue;
            note(x, (exchange){.begin = i % 2 == 0 ? m->arrived : m->computed,
                               .end = i % 2 == 0 ? m->go : m->over,
                               .devices = s->devices,
                               .count = s->copies,
                               .seconds = s->collectives[i],
                               .action = {ONS_ACTION_ALL_REDUCE, stage, 0, part, false}});
        }
}

/* Over copies in turn together; those that share a micro-batch have other weights each. */
static ons_status *list_sums(simulator *x, uint32_t stage) {
    const ons_placed_stage *s = &x->plan->stages[stage];
    uint32_t each = s->together ? 1 : s->copies, last = ons_placed_parts(x->plan, stage) - 1;
    for (uint32_t copy = 0; copy < s->copies; copy += each) {
        ons_action a = {ONS_ACTION_ALL_REDUCE, stage, copy, last, false};
        exchange e = {.devices = s->devices + copy, .count = each, .seconds = s->sum, .action = a};
        ONS_TRY(add_task(x, &a, ONS_NO_RESOURCE, 0, &e.begin));
        ONS_TRY(add_task(x, &a, ONS_NO_RESOURCE, 0, &e.end));
        for (uint32_t i = copy; i < copy + each; ++i) {
            uint32_t number = x->numbers.first_copy[stage] + i;
            ONS_TRY(wait_for(x, e.begin, x->last_gradient[number]));
            ONS_TRY(wait_for(x, x->update[number], e.end));
        }
        if (s->sum > 0)
            note(x, e);
        else
            ONS_TRY(wait_for(x, e.end, e.begin));
    }
    return NULL;
}

static ons_status *list_message(simulator *x, const ons_placed_edge *e, bool gradient, uint32_t from_part,
                                uint32_t to_part) {
    uint32_t from = gradient ? e->to : e->from, to = gradient ? e->from : e->to, *devices;
    double seconds = ons_placed_message(x->plan, e, gradient, from_part, to_part);
    ons_task_id begin = marks_of(x, gradient, from, from_part)->over, end = marks_of(x, gradient, to, to_part)->arrived;
    if (seconds == 0) return wait_for(x, end, begin);
    ONS_NEW(devices, x->arena, 2);
    devices[0] = ons_placed_device(&x->plan->stages[from], from_part);
    devices[1] = ons_placed_device(&x->plan->stages[to], to_part);
    ons_action_kind kind = gradient ? ONS_ACTION_SEND_GRADIENT : ONS_ACTION_SEND_ACTIVATION;
    note(x, (exchange){begin, end, devices, 2, true, seconds, {kind, from, 0, from_part, false}, 0});
    return NULL;
}

/* A part waits for all parts of the other stage that share samples with it: one of a barrier for many. */
static ons_status *list_edge(simulator *x, const ons_placed_edge *e, bool gradient) {
    uint32_t from = gradient ? e->to : e->from, to = gradient ? e->from : e->to, first, end;
    for (uint32_t part = 0; part < ons_placed_parts(x->plan, to); ++part) {
        ons_part_range(x->plan, to, part, from, &first, &end);
        for (uint32_t i = first; i < end; ++i) ONS_TRY(list_message(x, e, gradient, i, part));
    }
    return NULL;
}

static size_t most_exchanges(const simulator *x) {
    const ons_placed_plan *p = x->plan;
    size_t most = 0;
    for (uint32_t i = 0; i < p->stage_count; ++i)
        most += (size_t)ONS_COLLECTIVES * ons_placed_parts(p, i) + p->stages[i].copies;
    for (uint32_t i = 0; i < p->edge_count; ++i) /* between parts that share samples: no more than both have */
        most += 2 * ((size_t)ons_placed_parts(p, p->edges[i].from) + ons_placed_parts(p, p->edges[i].to));
    return most;
}

static ons_status *list_exchanges(simulator *x) {
    ONS_NEW(x->exchanges, x->arena, most_exchanges(x));
    for (uint32_t i = 0; i < x->plan->stage_count; ++i) {
        list_collectives(x, i);
        ONS_TRY(list_sums(x, i));
    }
    for (uint32_t i = 0; i < x->plan->edge_count; ++i)
        for (int gradient = 0; gradient < 2; ++gradient) ONS_TRY(list_edge(x, &x->plan->edges[i], gradient == 1));
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------------ links */

/* It takes its time, and waits for no other. */
static ons_status *add_free(simulator *x, const exchange *e) {
    ons_task_id id;
    ONS_TRY(add_task(x, &e->action, ONS_NO_RESOURCE, e->seconds, &id));
    ONS_TRY(wait_for(x, id, e->begin));
    return wait_for(x, e->end, id);
}

static ons_status *add_message(simulator *x, const exchange *e) {
    const ons_task_spec spec = {.name = ons_action_name(e->action.kind),
                                .action = e->action,
                                .resource = x->send[e->devices[0]],
                                .second_resource = x->receive[e->devices[1]],
                                .seconds = e->seconds};
    ons_task_id id;
    ONS_TRY(ons_simulation_add_task(x->s, &spec, &id));
    ONS_TRY(wait_for(x, id, e->begin));
    return wait_for(x, e->end, id);
}

/* It begins on all its devices at once, when each has come to the end of its collective stream: that is what the task
 * `all` waits for. last: [device], of its collective stream. */
static ons_status *add_collective(simulator *x, const exchange *e, ons_task_id *last) {
    ons_task_id all, id;
    ONS_TRY(add_task(x, &e->action, ONS_NO_RESOURCE, 0, &all));
    ONS_TRY(wait_for(x, all, e->begin));
    for (uint32_t i = 0; i < e->count; ++i) ONS_TRY(wait_for(x, all, last[e->devices[i]]));
    for (uint32_t i = 0; i < e->count; ++i) {
        ONS_TRY(add_task(x, &e->action, x->join[e->devices[i]], e->seconds, &id));
        ONS_TRY(wait_for(x, id, all));
        ONS_TRY(wait_for(x, e->end, id));
        last[e->devices[i]] = id;
    }
    return NULL;
}

static int by_place(const void *a, const void *b) {
    const exchange *x = a, *y = b;
    if (x->place != y->place) return x->place < y->place ? -1 : 1;
    return x->end < y->end ? -1 : x->end > y->end;
}

/* Streams serve in the order of adding, so exchanges need an order. They run once with links that never make anybody
 * wait; in the order in which they can begin there, they are then added to the streams, so none stands in front of one
 * that it waits for. */
static ons_status *run_with_links(simulator *x) {
    ons_task_id *last;
    ons_simulation_savepoint before = ons_simulation_get_savepoint(x->s);
    for (size_t i = 0; i < x->count; ++i) ONS_TRY(add_free(x, &x->exchanges[i]));
    ONS_TRY(ons_simulation_run(x->s));
    for (size_t i = 0; i < x->count; ++i) x->exchanges[i].place = ons_simulation_order(x->s, x->exchanges[i].begin);
    qsort(x->exchanges, x->count, sizeof *x->exchanges, by_place);
    ons_simulation_rewind(x->s, before);
    ONS_NEW(last, x->arena, x->plan->devices);
    for (uint32_t i = 0; i < x->plan->devices; ++i) last[i] = ONS_NO_TASK;
    for (size_t i = 0; i < x->count; ++i) {
        const exchange *e = &x->exchanges[i];
        ONS_TRY(e->message ? add_message(x, e) : add_collective(x, e, last));
    }
    return ons_simulation_run(x->s);
}

/* ----------------------------------------------------------------------------------------------------------- a step */

static ons_status *simulate(simulator *x) {
    ONS_TRY(ons_part_times_make(x->plan, x->arena, &x->numbers));
    ONS_TRY(mark_all(x));
    ONS_TRY(add_orders(x));
    ONS_TRY(add_devices(x));
    ONS_TRY(set_memory(x));
    for (uint32_t device = 0; device < x->plan->devices; ++device)
        for (uint32_t i = 0; i < x->lists[device].count; ++i)
            ONS_TRY(add_action(x, device, &x->lists[device].items[i]));
    ONS_TRY(list_exchanges(x));
    return run_with_links(x);
}

/* Peak and busiest device are each the most of any device; the bubbles are those of all devices together. */
static ons_status *sum_up(const simulator *x, ons_placed_forecast *f) {
    double busy = 0;
    *f = (ons_placed_forecast){.seconds = ons_simulation_seconds(x->s)};
    for (uint32_t i = 0; i < x->plan->devices; ++i) {
        ons_memory_point *points;
        uint32_t count;
        int64_t peak;
        ONS_TRY(ons_simulation_memory(x->s, i, x->arena, &points, &count, &peak));
        busy += x->busy[i];
        if (peak > f->peak_bytes) f->peak_bytes = peak;
        if (x->busy[i] > f->busy_seconds) f->busy_seconds = x->busy[i];
    }
    f->bubble_share = f->seconds > 0 ? 1 - busy / (x->plan->devices * f->seconds) : 0;
    f->simulation = x->s;
    return NULL;
}

ons_status *ons_placed_simulate(const ons_placed_plan *plan, const ons_action_list *lists, ons_arena *arena,
                                ons_placed_forecast *forecast) {
    simulator x = {.plan = plan, .lists = lists, .arena = arena};
    ONS_TRY(ons_placed_lists_check(plan, lists, arena));
    ONS_TRY(ons_simulation_new(&x.s));
    ons_status *status = simulate(&x);
    if (status == NULL) status = sum_up(&x, forecast);
    if (status != NULL) ons_simulation_free(x.s);
    return status;
}
