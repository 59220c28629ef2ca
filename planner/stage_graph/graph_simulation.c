#include "planner/stage_graph/graph_simulation.h"

#include <stdlib.h>

#include "planner/partition/link.h"
#include "planner/stage_graph/stage_lists.h"

typedef struct simulator {
    const ons_stage_graph *g;
    const ons_action_list *lists;
    ons_interval_costs *costs;
    ons_simulation *s;
    ons_task_id **forward, **backward; /* [stage][micro-batch] */
    ons_resource_id *send, *receive;   /* [stage] */
} simulator;

static uint32_t logarithm(uint32_t power) { return 31u - (uint32_t)__builtin_clz(power); }

static ons_status *add_task(simulator *x, ons_action_kind kind, uint32_t stage, uint32_t micro_batch,
                            ons_resource_id resource, double seconds, ons_task_id *id) {
    const ons_task_spec spec = {.name = ons_action_name(kind),
                                .action = {.kind = kind, .stage = stage, .micro_batch = micro_batch},
                                .resource = resource,
                                .second_resource = ONS_NO_RESOURCE,
                                .seconds = seconds};
    return ons_simulation_add_task(x->s, &spec, id);
}

/* ----------------------------------------------------------------------------------------------------- computations */

/* A stage's replicas do the same at the same time, so that one list and one stream stand for all of them. */
static ons_status *add_stage(simulator *x, uint32_t stage) {
    const ons_graph_stage *s = &x->g->stages[stage];
    const ons_interval_way way = {s->first, s->end, s->pace.samples, logarithm(s->replicas)};
    const ons_interval_parts parts = ons_interval_parts_of(x->costs, &way);
    ons_resource_id compute;
    ons_task_id id;
    ONS_TRY(ons_simulation_add_resource(x->s, stage, "compute", &compute));
    for (uint32_t i = 0; i < x->lists[stage].count; ++i) {
        const ons_action *a = &x->lists[stage].items[i];
        switch ((int)a->kind) {
        case ONS_ACTION_FORWARD:
            ONS_TRY(add_task(x, a->kind, stage, a->micro_batch, compute, parts.forward,
                             &x->forward[stage][a->micro_batch]));
            break;
        case ONS_ACTION_BACKWARD:
            ONS_TRY(add_task(x, a->kind, stage, a->micro_batch, compute, parts.backward,
                             &x->backward[stage][a->micro_batch]));
            break;
        case ONS_ACTION_UPDATE:
            ONS_TRY(add_task(x, ONS_ACTION_ALL_REDUCE, stage, a->micro_batch, compute, parts.reduce, &id));
            ONS_TRY(add_task(x, a->kind, stage, a->micro_batch, compute, parts.update, &id));
            break;
        default:
            return ons_status_new(ONS_UNSUPPORTED, "stage %u: %s is not a part that lists of stages hold", stage,
                                  ons_action_name(a->kind));
        }
    }
    return NULL;
}

/* --------------------------------------------------------------------------------------------------------- messages */

/* A stage's result for one of its micro-batches, on its way to another stage; back: a gradient. */
typedef struct message {
    uint32_t from, to, micro_batch; /* of the sender */
    bool back;
    double seconds;
    ons_task_id task;
    uint32_t place; /* in an order in which the messages can be sent */
} message;

/* Seconds for what a replica sends; where there are fewer receivers, each takes several of these at a time. */
static double message_seconds(const simulator *x, int64_t bytes, uint32_t from, uint32_t to) {
    uint32_t senders = x->g->stages[from].replicas, receivers = x->g->stages[to].replicas;
    if (bytes == 0) return 0;
    int64_t each = senders > receivers ? bytes * (senders / receivers) : bytes;
    return ons_link_seconds(ons_link_in_node(ons_interval_costs_problem(x->costs)->hardware), each);
}

static size_t list_way(const simulator *x, uint32_t from, uint32_t to, bool back, int64_t bytes, message *list) {
    uint32_t count = ons_graph_micro_batches(x->g, from);
    double seconds = message_seconds(x, bytes, from, to);
    for (uint32_t i = 0; i < count; ++i) list[i] = (message){from, to, i, back, seconds, ONS_NO_TASK, 0};
    return count;
}

static ons_status *list_messages(const simulator *x, ons_arena *arena, message **list, size_t *count) {
    size_t room = 0;
    for (uint32_t i = 0; i < x->g->edge_count; ++i)
        room += (size_t)ons_graph_micro_batches(x->g, x->g->edges[i].from) +
                ons_graph_micro_batches(x->g, x->g->edges[i].to);
    ONS_NEW(*list, arena, room);
    *count = 0;
    for (uint32_t i = 0; i < x->g->edge_count; ++i) {
        const ons_graph_edge *e = &x->g->edges[i];
        *count += list_way(x, e->from, e->to, false, e->bytes, *list + *count);
        *count += list_way(x, e->to, e->from, true, e->gradient_bytes, *list + *count);
    }
    return NULL;
}

/* The receiver's micro-batches wait for all messages that share samples with them. `free`: it takes no time, and waits
 * for no other. */
static ons_status *add_message(simulator *x, message *m, bool free) {
    int64_t size = x->g->stages[m->from].pace.samples, taken = x->g->stages[m->to].pace.samples;
    ons_task_id *const *parts = m->back ? x->backward : x->forward;
    bool travels = !free && m->seconds > 0;
    const ons_task_spec spec = {.name =
                                    ons_action_name(m->back ? ONS_ACTION_SEND_GRADIENT : ONS_ACTION_SEND_ACTIVATION),
                                .action = {.kind = m->back ? ONS_ACTION_SEND_GRADIENT : ONS_ACTION_SEND_ACTIVATION,
                                           .stage = m->from,
                                           .micro_batch = m->micro_batch},
                                .resource = travels ? x->send[m->from] : ONS_NO_RESOURCE,
                                .second_resource = travels ? x->receive[m->to] : ONS_NO_RESOURCE,
                                .seconds = travels ? m->seconds : 0};
    ONS_TRY(ons_simulation_add_task(x->s, &spec, &m->task));
    ONS_TRY(ons_simulation_add_dependency(x->s, parts[m->from][m->micro_batch], m->task, 0));
    for (int64_t k = m->micro_batch * size / taken; k * taken < (m->micro_batch + 1) * size; ++k)
        ONS_TRY(ons_simulation_add_dependency(x->s, m->task, parts[m->to][k], 0));
    return NULL;
}

static int by_place(const void *a, const void *b) {
    const message *x = a, *y = b;
    return x->place < y->place ? -1 : x->place > y->place;
}

/* Once with links that are free, for the order in which messages are sent. */
static ons_status *add_messages(simulator *x, ons_arena *arena) {
    message *list;
    size_t count;
    ONS_TRY(list_messages(x, arena, &list, &count));
    ons_simulation_savepoint computations = ons_simulation_get_savepoint(x->s);
    for (size_t i = 0; i < count; ++i) ONS_TRY(add_message(x, &list[i], true));
    ONS_TRY(ons_simulation_run(x->s));
    if (ons_interval_costs_problem(x->costs)->hardware->link_bandwidth <= 0) return NULL;
    for (size_t i = 0; i < count; ++i) list[i].place = ons_simulation_order(x->s, list[i].task);
    qsort(list, count, sizeof *list, by_place);
    ons_simulation_rewind(x->s, computations);
    for (size_t i = 0; i < count; ++i) ONS_TRY(add_message(x, &list[i], false));
    return ons_simulation_run(x->s);
}

/* ----------------------------------------------------------------------------------------------------------- a step */

static ons_status *simulate(simulator *x, ons_arena *arena) {
    const ons_stage_graph *g = x->g;
    ONS_NEW(x->forward, arena, g->stage_count);
    ONS_NEW(x->backward, arena, g->stage_count);
    ONS_NEW(x->send, arena, g->stage_count);
    ONS_NEW(x->receive, arena, g->stage_count);
    for (uint32_t i = 0; i < g->stage_count; ++i) {
        ONS_NEW(x->forward[i], arena, ons_graph_micro_batches(g, i));
        ONS_NEW(x->backward[i], arena, ons_graph_micro_batches(g, i));
        ONS_TRY(add_stage(x, i));
        ONS_TRY(ons_simulation_add_resource(x->s, i, "send", &x->send[i]));
        ONS_TRY(ons_simulation_add_resource(x->s, i, "receive", &x->receive[i]));
    }
    return add_messages(x, arena);
}

ons_status *ons_stage_graph_simulate(const ons_stage_graph *g, const ons_action_list *lists, ons_interval_costs *costs,
                                     ons_simulation **simulation) {
    simulator x = {.g = g, .lists = lists, .costs = costs};
    *simulation = NULL;
    ONS_TRY(ons_stage_lists_check(g, lists)); /* every part is there */
    ons_arena *arena = ons_arena_new();
    if (arena == NULL) return ons_status_out_of_memory();
    ons_status *status = ons_simulation_new(&x.s);
    if (status == NULL) status = simulate(&x, arena);
    ons_arena_free(arena);
    if (status != NULL)
        ons_simulation_free(x.s);
    else
        *simulation = x.s;
    return status;
}
