#include "runtime/transport/circle.h"

#include <stdlib.h>

struct ons_circle {
    ons_circle_options o;
    ons_nccl_circle *nccl;
    uintptr_t native;      /* the stream, while messages are put on it */
    uint32_t together;     /* messages since NCCL's last begin */
    ons_link **to, **from; /* of each rank; NULL: itself, or there is NCCL */
    uint64_t *tickets;     /* of each: of the last message to it in this round, and one more; 0: there was none */
    ons_status *status;    /* of this exchange */
    ons_meanwhile meanwhile;
};

static ons_status *open_links(ons_circle *c) {
    const ons_circle_options *o = &c->o;
    uint32_t own = o->ranks[o->own];
    c->to = calloc(o->count, sizeof(ons_link *));
    c->from = calloc(o->count, sizeof(ons_link *));
    c->tickets = calloc(o->count, sizeof *c->tickets);
    if (c->to == NULL || c->from == NULL || c->tickets == NULL) return ons_status_out_of_memory();
    for (uint32_t i = 0; i < o->count; ++i) {
        if (i == o->own) continue;
        ONS_TRY(ons_links_open(o->links, o->device, own, o->ranks[i], o->number, true, ONS_CIRCLE_ROUND, &c->to[i]));
        ONS_TRY(ons_links_open(o->links, o->device, o->ranks[i], own, o->number, false, 0, &c->from[i]));
    }
    return NULL;
}

ons_status *ons_circle_new(const ons_circle_options *options, ons_circle **result) {
    ons_circle *c = calloc(1, sizeof *c);
    if (c == NULL) return ons_status_out_of_memory();
    c->o = *options;
    ons_status *status = options->nccl != NULL
                             ? ons_nccl_open_circle(options->nccl, options->ranks, options->count, options->own,
                                                    options->number, options->stream, &c->nccl)
                             : open_links(c);
    if (status != NULL) {
        ons_circle_free(c);
        return status;
    }
    *result = c;
    return NULL;
}

void ons_circle_free(ons_circle *c) {
    if (c == NULL) return;
    for (uint32_t i = 0; c->to != NULL && i < c->o.count; ++i) ons_link_close(c->to[i], true);
    for (uint32_t i = 0; c->from != NULL && i < c->o.count; ++i) ons_link_close(c->from[i], false);
    free(c->to);
    free(c->from);
    free(c->tickets);
    ons_status_free(c->status);
    free(c);
}

void ons_circle_set_meanwhile(ons_circle *c, const ons_meanwhile *meanwhile) { c->meanwhile = *meanwhile; }

bool ons_circle_meets(const ons_circle *c) { return c->nccl == NULL; }

/* --------------------------------------------------------------------------------------------------------- messages */

void ons_circle_send(ons_circle *c, uint32_t to, const void *data, size_t bytes) {
    if (c->nccl != NULL) {
        ons_nccl_circle_send(c->nccl, to, c->native, data, bytes);
        ++c->together;
        return;
    }
    if (c->status != NULL) return;
    ons_link_offer(c->to[to], c->o.stream, data, bytes, &c->tickets[to]);
    ++c->tickets[to];
}

/* Until somebody has taken or offered something. */
static void await_news(ons_circle *c, uint64_t seen) {
    if (c->meanwhile.run != NULL) c->status = c->meanwhile.run(c->meanwhile.context);
    if (c->status == NULL) c->status = ons_links_await_news(c->o.links, seen, c->o.world);
}

void ons_circle_receive(ons_circle *c, uint32_t from, void *data, size_t bytes) {
    if (c->nccl != NULL) {
        ons_nccl_circle_receive(c->nccl, from, c->native, data, bytes);
        ++c->together;
        return;
    }
    for (bool taken = false; c->status == NULL && !taken;) {
        uint64_t seen = ons_links_news(c->o.links);
        c->status = ons_link_take(c->from[from], c->o.stream, data, bytes, &taken);
        if (c->status == NULL && !taken) await_news(c, seen);
    }
}

/* A receiver copies in the order in which it was sent, so the last message is gone last. */
static void await_gone(ons_circle *c, uint32_t to) {
    for (bool gone = c->tickets[to] == 0; c->status == NULL && !gone;) {
        uint64_t seen = ons_links_news(c->o.links);
        gone = ons_link_wait_gone(c->to[to], c->o.stream, c->tickets[to] - 1);
        if (!gone) await_news(c, seen);
    }
    c->tickets[to] = 0;
}

/* -------------------------------------------------------------------------------------------------------- exchanges */

typedef struct exchange {
    ons_circle *circle;
    uint32_t rounds;
    ons_circle_turn *turn;
    void *context;
} exchange;

static void put_turn(const exchange *x, uint32_t round, uint32_t turn) {
    const ons_circle_options *o = &x->circle->o;
    x->turn(x->context, x->circle, round, (o->own + turn) % o->count, (o->own + o->count - turn) % o->count);
}

/* NCCL takes so many messages together. Where one group ends and the next one begins may differ from rank to rank: a
 * turn needs nothing but the others' same turn, and those before it. */
static void put_by_nccl(void *argument, uintptr_t native) {
    const exchange *x = argument;
    ons_circle *c = x->circle;
    c->native = native;
    c->together = 0;
    ons_nccl_begin(c->nccl);
    for (uint32_t round = 0; round < x->rounds; ++round)
        for (uint32_t turn = 1; turn < c->o.count; ++turn) {
            if (c->together + 2 * ONS_CIRCLE_ROUND > ONS_NCCL_TOGETHER) {
                ons_nccl_end(c->nccl);
                ons_nccl_begin(c->nccl);
                c->together = 0;
            }
            put_turn(x, round, turn);
        }
    ons_nccl_end(c->nccl);
}

static ons_status *put_by_links(const exchange *x) {
    ons_circle *c = x->circle;
    for (uint32_t round = 0; round < x->rounds && c->status == NULL; ++round) {
        for (uint32_t turn = 1; turn < c->o.count; ++turn) put_turn(x, round, turn);
        for (uint32_t i = 0; i < c->o.count; ++i) await_gone(c, i);
    }
    ons_status *status = c->status;
    c->status = NULL;
    return status;
}

ons_status *ons_circle_exchange(ons_circle *c, uint32_t rounds, ons_circle_turn *turn, void *context) {
    exchange x = {c, rounds, turn, context};
    if (c->nccl == NULL) return put_by_links(&x);
    c->o.device->launch(c->o.stream, put_by_nccl, &x);
    return NULL;
}
