/* NCCL's communicators, made before the first step, with ids that the host's transport carries. */
#include <stdlib.h>
#include <string.h>

#include "runtime/transport/nccl_state.h"

/* Multiprocessors that a message may take while it waits or goes: computing has the others. */
enum { MOST_BLOCKS = 4 };

ons_status *ons_nccl_open(ons_nccl *n, uint32_t from, uint32_t to, uint32_t number, ons_stream *stream,
                          ons_nccl_channel **result) {
    ons_nccl_channel *c = calloc(1, sizeof *c);
    if (c == NULL || !ons_vector_push(&n->channels, c)) {
        free(c);
        return ons_status_out_of_memory();
    }
    bool sends = from == n->transport->rank;
    *c = (ons_nccl_channel){.nccl = n, .from = from, .to = to, .number = number, .sends = sends, .stream = stream};
    c->other = sends ? to : from;
    *result = c;
    return n->transport->open(n->transport, from, to, number, &c->carrier);
}

/* The first rank tells the others the id. */
static ons_status *open_carriers(ons_nccl *n, ons_nccl_circle *c, uint32_t number) {
    ons_transport *t = n->transport;
    if (c->own > 0) return t->open(t, c->ranks[0], c->ranks[c->own], number, &c->carriers[0]);
    for (uint32_t i = 1; i < c->count; ++i) ONS_TRY(t->open(t, c->ranks[0], c->ranks[i], number, &c->carriers[i]));
    return NULL;
}

ons_status *ons_nccl_open_circle(ons_nccl *n, const uint32_t *ranks, uint32_t count, uint32_t own, uint32_t number,
                                 ons_stream *stream, ons_nccl_circle **result) {
    ons_nccl_circle *c = calloc(1, sizeof *c);
    ons_channel **carriers = calloc(count, sizeof *carriers);
    if (c == NULL || carriers == NULL || !ons_vector_push(&n->circles, c)) {
        free(c);
        free(carriers);
        return ons_status_out_of_memory();
    }
    *c = (ons_nccl_circle){
        .nccl = n, .ranks = ranks, .count = count, .own = own, .stream = stream, .carriers = carriers};
    *result = c;
    return open_carriers(n, c, number);
}

static int by_place(const void *left, const void *right) {
    const ons_nccl_channel *a = *(const ons_nccl_channel *const *)left, *b = *(const ons_nccl_channel *const *)right;
    const uint32_t ours[] = {a->from, a->to, a->number}, theirs[] = {b->from, b->to, b->number};
    for (int i = 0; i < 3; ++i)
        if (ours[i] != theirs[i]) return ours[i] < theirs[i] ? -1 : 1;
    return 0;
}

/* A task is on its thread's GPU, as NCCL needs it. */
typedef struct call {
    ons_nccl *n;
    const ons_nccl_channel *channel; /* NULL: of all */
    void **comm;
    int rank, ranks;
    ons_nccl_id id;
    int result;
} call;

static void make_id(void *argument, uintptr_t native) {
    (void)native;
    call *c = argument;
    c->result = c->n->api->get_unique_id(&c->id);
}

static void make_comm(void *argument, uintptr_t native) {
    (void)native;
    call *c = argument;
    ons_nccl_config config = {
        .size = sizeof config,
        .magic = ONS_NCCL_MAGIC,
        .version = ONS_NCCL_LEAST_VERSION,
        .blocking = 1,
        .group_size = ONS_NCCL_UNDEFINED,
        .least_blocks = ONS_NCCL_UNDEFINED,
        .most_blocks = MOST_BLOCKS,
        .split_share = ONS_NCCL_UNDEFINED,
    };
    c->result = c->n->api->comm_init_rank_config(c->comm, c->ranks, c->id, c->rank, &config);
}

static ons_status *run_call(call *c, ons_task *task, const char *what) {
    c->n->device->launch(c->n->compute, task, c);
    uint32_t other = c->channel == NULL ? UINT32_MAX : c->channel->other;
    return ons_nccl_status(c->n, c->result, NULL, what, other);
}

static ons_status *connect_world(ons_nccl *n) {
    ons_transport *t = n->transport;
    call c = {.n = n, .comm = &n->world, .rank = (int)t->rank, .ranks = (int)t->ranks};
    ons_nccl_id *ids = calloc(t->ranks, sizeof *ids);
    if (ids == NULL) return ons_status_out_of_memory();
    ons_status *status = t->rank == 0 ? run_call(&c, make_id, "making an id") : NULL;
    if (status == NULL && !t->gather(t, &c.id, ids, sizeof *ids)) status = t->failure(t);
    c.id = ids[0];
    free(ids);
    ONS_TRY(status);
    return run_call(&c, make_comm, "connecting all");
}

static ons_status *connect_channel(ons_nccl *n, ons_nccl_channel *channel) {
    ons_transport *t = n->transport;
    call c = {.n = n,
              .channel = channel,
              .comm = &channel->comm,
              .rank = channel->sends ? ONS_NCCL_SENDER : ONS_NCCL_RECEIVER,
              .ranks = 2};
    if (channel->sends) ONS_TRY(run_call(&c, make_id, "making an id for"));
    bool went = channel->sends ? t->send(channel->carrier, &c.id, sizeof c.id)
                               : t->receive(channel->carrier, &c.id, sizeof c.id);
    if (!went) return t->failure(t);
    return run_call(&c, make_comm, "connecting to");
}

static ons_status *tell_id(const ons_nccl_circle *c, ons_nccl_id *id) {
    ons_transport *t = c->nccl->transport;
    bool went = c->own == 0 || t->receive(c->carriers[0], id, sizeof *id);
    for (uint32_t i = 1; c->own == 0 && went && i < c->count; ++i) went = t->send(c->carriers[i], id, sizeof *id);
    return went ? NULL : t->failure(t);
}

static ons_status *connect_circle(ons_nccl *n, ons_nccl_circle *circle) {
    call c = {.n = n, .comm = &circle->comm, .rank = (int)circle->own, .ranks = (int)circle->count};
    if (circle->own == 0) ONS_TRY(run_call(&c, make_id, "making an id"));
    ONS_TRY(tell_id(circle, &c.id));
    return run_call(&c, make_comm, "connecting replicas");
}

static ons_status *await(ons_nccl *n, ons_stream *stream) {
    n->device->event_record(stream, n->met);
    n->device->event_synchronize(n->met);
    ONS_TRY(n->device->failure(n->device));
    return n->transport->failure(n->transport);
}

static void greet(void *argument, uintptr_t native) {
    ons_nccl_channel *c = argument;
    if (c->sends)
        ons_nccl_send(c, native, c->nccl->scratch, sizeof(uint64_t));
    else
        ons_nccl_receive(c, native, c->nccl->scratch, sizeof(uint64_t));
}

/* Whoever's eight bytes come last: nobody reads them. */
static void greet_each(void *argument, uintptr_t native) {
    ons_nccl_circle *c = argument;
    ons_nccl_begin(c);
    for (uint32_t i = 0; i < c->count; ++i) {
        if (i == c->own) continue;
        ons_nccl_circle_send(c, i, native, c->nccl->scratch, sizeof(uint64_t));
        ons_nccl_circle_receive(c, i, native, (uint64_t *)c->nccl->scratch + 1, sizeof(uint64_t));
    }
    ons_nccl_end(c);
}

static void greet_all(void *argument, uintptr_t native) {
    ons_nccl *n = argument;
    ons_nccl_maximum(n, native, n->scratch);
}

/* The first message of a pair takes memory for both: that is over before the first step. */
static ons_status *warm_up(ons_nccl *n) {
    for (size_t i = 0; i < n->circles.count; ++i) {
        n->device->launch(n->circles.items[i]->stream, greet_each, n->circles.items[i]);
        ONS_TRY(await(n, n->circles.items[i]->stream));
    }
    for (size_t i = 0; i < n->channels.count; ++i) {
        n->device->launch(n->channels.items[i]->stream, greet, n->channels.items[i]);
        ONS_TRY(await(n, n->channels.items[i]->stream));
    }
    n->device->launch(n->compute, greet_all, n);
    return await(n, n->compute);
}

static bool is_given_up(ons_nccl *n) {
    pthread_mutex_lock(&n->lock);
    bool given_up = n->given_up;
    pthread_mutex_unlock(&n->lock);
    return given_up;
}

/* All ranks in the same order of pairs: nobody waits for whom waits for him. */
static ons_status *connect_all(ons_nccl *n) {
    ONS_TRY(connect_world(n));
    for (size_t i = 0; i < n->circles.count && !is_given_up(n); ++i) ONS_TRY(connect_circle(n, n->circles.items[i]));
    for (size_t i = 0; i < n->channels.count && !is_given_up(n); ++i) ONS_TRY(connect_channel(n, n->channels.items[i]));
    return NULL;
}

static void *start(void *argument) {
    ons_nccl *n = argument;
    ons_status *status = connect_all(n);
    if (status != NULL && !is_given_up(n)) /* else the transport is there no more */
        ons_nccl_tell(n, ons_status_new(ons_status_get_code(status), "%s", ons_status_get_message(status)));
    pthread_mutex_lock(&n->lock);
    n->status = status;
    n->connected = true;
    pthread_cond_broadcast(&n->changed);
    pthread_mutex_unlock(&n->lock);
    return NULL;
}

/* A rank that does not come would keep NCCL waiting for ever; no communicator is there yet that could be aborted. */
static ons_status *await_start(ons_nccl *n) {
    pthread_mutex_lock(&n->lock);
    while (!n->connected && !n->given_up) {
        ons_nccl_doze(n);
        pthread_mutex_unlock(&n->lock);
        bool failed = ons_nccl_world_has_failed(n);
        pthread_mutex_lock(&n->lock);
        n->given_up = failed && !n->connected;
    }
    ons_status *status = n->status;
    n->status = NULL;
    bool given_up = n->given_up;
    pthread_mutex_unlock(&n->lock);
    if (given_up) {
        pthread_detach(n->starter);
        return n->transport->failure(n->transport);
    }
    pthread_join(n->starter, NULL);
    n->started = false;
    return status;
}

ons_status *ons_nccl_connect(ons_nccl *n, ons_stream *compute, ons_fault *fault, void *scratch) {
    n->compute = compute;
    n->fault = fault;
    n->scratch = scratch;
    if (n->channels.count > 0) qsort(n->channels.items, n->channels.count, sizeof(ons_nccl_channel *), by_place);
    ONS_CHECK(pthread_create(&n->starter, NULL, start, n) == 0, ONS_IO_ERROR, "no thread for NCCL's start");
    n->started = true;
    ONS_TRY(await_start(n));
    ONS_CHECK(pthread_create(&n->watcher, NULL, ons_nccl_watch, n) == 0, ONS_IO_ERROR, "no thread that watches NCCL");
    n->watches = true;
    return warm_up(n);
}
