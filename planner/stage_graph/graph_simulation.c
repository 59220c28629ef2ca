#include "planner/stage_graph/graph_simulation.h"

#include "planner/partition/link.h"
#include "planner/stage_graph/stage_lists.h"

typedef struct simulator {
    const ons_stage_graph *g;
    const ons_action_list *lists;
    ons_interval_costs *costs;
    ons_simulation *s;
    ons_task_id **forward, **backward; /* [stage][micro-batch] */
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

/* One way over an edge: parts of `from` are sent, parts of `to` wait for them. */
typedef struct way {
    uint32_t from, to; /* stages */
    ons_task_id *sent, *waiting;
    ons_action_kind kind;
    double seconds; /* of a message; 0: parts wait for parts */
} way;

/* The receiver's micro-batches wait for all messages that share samples with them. */
static ons_status *add_way(simulator *x, const way *w) {
    int64_t size = x->g->stages[w->from].pace.samples, taken = x->g->stages[w->to].pace.samples;
    ons_resource_id link = ONS_NO_RESOURCE;
    if (w->seconds > 0) ONS_TRY(ons_simulation_add_resource(x->s, w->from, "send", &link));
    for (uint32_t i = 0; i < ons_graph_micro_batches(x->g, w->from); ++i) {
        ons_task_id ready = w->sent[i];
        if (w->seconds > 0) {
            ons_task_id message;
            ONS_TRY(add_task(x, w->kind, w->from, i, link, w->seconds, &message));
            ONS_TRY(ons_simulation_add_dependency(x->s, ready, message, 0));
            ready = message;
        }
        for (int64_t k = i * size / taken; k * taken < (i + 1) * size; ++k)
            ONS_TRY(ons_simulation_add_dependency(x->s, ready, w->waiting[k], 0));
    }
    return NULL;
}

/* Seconds for what a replica sends; where there are fewer receivers, each takes several of these at a time. */
static double message_seconds(const simulator *x, int64_t bytes, uint32_t from, uint32_t to) {
    uint32_t senders = x->g->stages[from].replicas, receivers = x->g->stages[to].replicas;
    if (bytes == 0) return 0;
    int64_t each = senders > receivers ? bytes * (senders / receivers) : bytes;
    return ons_link_seconds(ons_interval_costs_problem(x->costs)->machine, each);
}

static ons_status *add_edge(simulator *x, const ons_graph_edge *e) {
    const way forth = {e->from,
                       e->to,
                       x->forward[e->from],
                       x->forward[e->to],
                       ONS_ACTION_SEND_ACTIVATION,
                       message_seconds(x, e->bytes, e->from, e->to)};
    const way back = {e->to,
                      e->from,
                      x->backward[e->to],
                      x->backward[e->from],
                      ONS_ACTION_SEND_GRADIENT,
                      message_seconds(x, e->gradient_bytes, e->to, e->from)};
    ONS_TRY(add_way(x, &forth));
    return add_way(x, &back);
}

/* ------------------------------------------------------------------------------------------------------------ a step
 */

static ons_status *simulate(simulator *x, ons_arena *arena) {
    const ons_stage_graph *g = x->g;
    ONS_NEW(x->forward, arena, g->stage_count);
    ONS_NEW(x->backward, arena, g->stage_count);
    for (uint32_t i = 0; i < g->stage_count; ++i) {
        ONS_NEW(x->forward[i], arena, ons_graph_micro_batches(g, i));
        ONS_NEW(x->backward[i], arena, ons_graph_micro_batches(g, i));
        ONS_TRY(add_stage(x, i));
    }
    for (uint32_t i = 0; i < g->edge_count; ++i) ONS_TRY(add_edge(x, &g->edges[i]));
    return ons_simulation_run(x->s);
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
