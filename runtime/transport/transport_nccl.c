#include "runtime/transport/transport_nccl.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/vector.h"
#include "runtime/transport/nccl_api.h"

/* Multiprocessors that a message may take while it waits or goes: computing has the others. */
enum { MOST_BLOCKS = 4, LOOK_NANOSECONDS = 20 * 1000 * 1000 };

struct ons_nccl_channel {
    ons_nccl *nccl;
    uint32_t from, to, number;
    bool sends;
    uint32_t other;
    ons_stream *stream;
    ons_channel *carrier; /* of the id */
    void *comm;
};

struct ons_nccl {
    const ons_nccl_api *api;
    ons_transport *transport;
    ons_device *device;
    ONS_VECTOR(ons_nccl_channel *) channels; /* in the order in which all ranks connect them, from then on */
    void *world;                             /* communicator of all */
    ons_fault *fault;                        /* the device's */
    ons_fault *aborted;                      /* what stands there when messages were aborted; pinned */
    ons_stream *own;
    ons_event *reached, *met; /* the watcher's; the connecting thread's */

    /* The thread that connects: the caller waits for it, but not after the world has failed. */
    ons_stream *compute;
    void *scratch;
    pthread_t starter;
    bool started, connected, given_up;
    ons_status *status;

    pthread_t watcher;
    bool watches, ends, stopped; /* stopped: nothing is put on streams any more */
    uint32_t calls;              /* in NCCL */
    pthread_mutex_t lock;
    pthread_cond_t changed;
};

ons_status *ons_nccl_check(void) {
    const ons_nccl_api *api;
    return ons_nccl_load(&api);
}

/* ------------------------------------------------------------------------------------------------------------ failures
 */

static ons_status *nccl_status(const ons_nccl *n, int result, void *comm, const char *what, uint32_t other) {
    if (result == ONS_NCCL_SUCCESS || result == ONS_NCCL_IN_PROGRESS) return NULL;
    const char *more = n->api->get_last_error(comm);
    more = more == NULL || more[0] == 0 ? "no more is known" : more;
    if (other == UINT32_MAX)
        return ons_status_new(ONS_IO_ERROR, "stage %u: NCCL, %s: %s (%s)", n->transport->rank, what,
                              n->api->get_error_string(result), more);
    return ons_status_new(ONS_IO_ERROR, "stage %u: NCCL, %s stage %u: %s (%s)", n->transport->rank, what, other,
                          n->api->get_error_string(result), more);
}

static void tell(const ons_nccl *n, ons_status *status) {
    if (status == NULL) return;
    n->transport->fail(n->transport, status);
    ons_status_free(status);
}

static bool world_has_failed(const ons_nccl *n) {
    ons_status *failure = n->transport->failure(n->transport);
    ons_status_free(failure);
    return failure != NULL;
}

/* With the lock held: until something has changed or it is time to look again. */
static void doze(ons_nccl *n) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += LOOK_NANOSECONDS;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&n->changed, &n->lock, &until);
}

/* ------------------------------------------------------------------------------------------------------------ messages
 */

/* Calls into NCCL, and the end of its communicators, exclude each other. */
static bool enter(ons_nccl *n) {
    pthread_mutex_lock(&n->lock);
    bool goes = !n->stopped;
    n->calls += goes;
    pthread_mutex_unlock(&n->lock);
    return goes;
}

static void leave(ons_nccl *n) {
    pthread_mutex_lock(&n->lock);
    --n->calls;
    pthread_cond_broadcast(&n->changed);
    pthread_mutex_unlock(&n->lock);
}

enum { SENDER, RECEIVER }; /* ranks of a channel's communicator */

void ons_nccl_send(ons_nccl_channel *c, uintptr_t stream, const void *data, size_t bytes) {
    ons_nccl *n = c->nccl;
    if (!enter(n)) return;
    int result = n->api->send(data, bytes, ONS_NCCL_UINT8, RECEIVER, c->comm, (void *)stream);
    tell(n, nccl_status(n, result, c->comm, "sending to", c->other));
    leave(n);
}

void ons_nccl_receive(ons_nccl_channel *c, uintptr_t stream, void *data, size_t bytes) {
    ons_nccl *n = c->nccl;
    if (!enter(n)) return;
    int result = n->api->recv(data, bytes, ONS_NCCL_UINT8, SENDER, c->comm, (void *)stream);
    tell(n, nccl_status(n, result, c->comm, "receiving from", c->other));
    leave(n);
}

static void maximum(ons_nccl *n, uintptr_t stream, void *number) {
    if (!enter(n)) return;
    int result = n->api->all_reduce(number, number, 1, ONS_NCCL_UINT64, ONS_NCCL_MAX, n->world, (void *)stream);
    tell(n, nccl_status(n, result, n->world, "meeting all", UINT32_MAX));
    leave(n);
}

_Static_assert(sizeof(((ons_fault *)NULL)->problem) == sizeof(uint64_t) && offsetof(ons_fault, problem) == 0,
               "a fault begins with a number that is 0 where there is none");

void ons_nccl_share_fault(ons_nccl *n, uintptr_t stream) { maximum(n, stream, n->fault); }

/* ------------------------------------------------------------------------------------------------------------ watching
 */

/* Updates must not work with what did not come. */
static void stop_updates(ons_nccl *n) {
    n->device->copy(n->own, n->fault, n->aborted, sizeof *n->aborted);
    n->device->event_record(n->own, n->reached);
    n->device->event_synchronize(n->reached);
}

static void abort_all(ons_nccl *n) {
    enum { LOOKS = 50 }; /* a call that waits for another rank is ended by the abort itself */
    pthread_mutex_lock(&n->lock);
    n->stopped = true;
    for (int i = 0; i < LOOKS && n->calls > 0; ++i) doze(n);
    pthread_mutex_unlock(&n->lock);
    for (size_t i = 0; i < n->channels.count; ++i) {
        if (n->channels.items[i]->comm != NULL) n->api->comm_abort(n->channels.items[i]->comm);
        n->channels.items[i]->comm = NULL;
    }
    if (n->world != NULL) n->api->comm_abort(n->world);
    n->world = NULL;
}

static ons_status *error_of(const ons_nccl *n, void *comm, const char *what, uint32_t other) {
    int error = ONS_NCCL_SUCCESS;
    int result = n->api->comm_get_async_error(comm, &error);
    return nccl_status(n, result != ONS_NCCL_SUCCESS ? result : error, comm, what, other);
}

static ons_status *look_for_failure(const ons_nccl *n) {
    for (size_t i = 0; i < n->channels.count; ++i) {
        const ons_nccl_channel *c = n->channels.items[i];
        ONS_TRY(error_of(n, c->comm, c->sends ? "messages to" : "messages from", c->other));
    }
    return error_of(n, n->world, "meetings of all", UINT32_MAX);
}

static void *watch(void *argument) {
    ons_nccl *n = argument;
    bool failed = false;
    while (!failed) {
        pthread_mutex_lock(&n->lock);
        if (!n->ends) doze(n);
        bool ends = n->ends;
        pthread_mutex_unlock(&n->lock);
        if (ends) return NULL;
        tell(n, look_for_failure(n));
        failed = world_has_failed(n);
    }
    stop_updates(n);
    abort_all(n);
    return NULL;
}

/* ---------------------------------------------------------------------------------------------------------- connecting
 */

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
    return nccl_status(c->n, c->result, NULL, what, other);
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
    call c = {
        .n = n, .channel = channel, .comm = &channel->comm, .rank = channel->sends ? SENDER : RECEIVER, .ranks = 2};
    if (channel->sends) ONS_TRY(run_call(&c, make_id, "making an id for"));
    bool went = channel->sends ? t->send(channel->carrier, &c.id, sizeof c.id)
                               : t->receive(channel->carrier, &c.id, sizeof c.id);
    if (!went) return t->failure(t);
    return run_call(&c, make_comm, "connecting to");
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

static void greet_all(void *argument, uintptr_t native) {
    ons_nccl *n = argument;
    maximum(n, native, n->scratch);
}

/* The first message of a pair takes memory for both: that is over before the first step. */
static ons_status *warm_up(ons_nccl *n) {
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
    for (size_t i = 0; i < n->channels.count && !is_given_up(n); ++i) ONS_TRY(connect_channel(n, n->channels.items[i]));
    return NULL;
}

static void *start(void *argument) {
    ons_nccl *n = argument;
    ons_status *status = connect_all(n);
    if (status != NULL && !is_given_up(n)) /* else the transport is there no more */
        tell(n, ons_status_new(ons_status_get_code(status), "%s", ons_status_get_message(status)));
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
        doze(n);
        pthread_mutex_unlock(&n->lock);
        bool failed = world_has_failed(n);
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
    ONS_CHECK(pthread_create(&n->watcher, NULL, watch, n) == 0, ONS_IO_ERROR, "no thread that watches NCCL");
    n->watches = true;
    return warm_up(n);
}

/* -------------------------------------------------------------------------------------------------------- start and
 * end
 */

ons_status *ons_nccl_new(ons_transport *transport, ons_device *device, ons_nccl **result) {
    const ons_nccl_api *api;
    void *page = NULL;
    ONS_TRY(ons_nccl_load(&api));
    ons_nccl *n = calloc(1, sizeof *n);
    if (n == NULL) return ons_status_out_of_memory();
    n->api = api;
    n->transport = transport;
    n->device = device;
    pthread_mutex_init(&n->lock, NULL);
    pthread_cond_init(&n->changed, NULL);
    ons_status *status = device->allocate_host(device, sizeof *n->aborted, &page);
    n->aborted = page;
    if (status == NULL) *n->aborted = (ons_fault){.problem = "another stage has failed"};
    if (status == NULL) status = device->stream_new(device, "abort", 1, &n->own);
    if (status == NULL) status = device->event_new(device, &n->reached);
    if (status == NULL) status = device->event_new(device, &n->met);
    if (status != NULL) {
        ons_nccl_free(n);
        return status;
    }
    *result = n;
    return NULL;
}

/* Aborting waits for nobody, and what was under way has arrived. */
void ons_nccl_free(ons_nccl *n) {
    if (n == NULL || n->started) return; /* it was given up: its thread may still come back to all this */
    if (n->watches) {
        pthread_mutex_lock(&n->lock);
        n->ends = true;
        pthread_cond_broadcast(&n->changed);
        pthread_mutex_unlock(&n->lock);
        pthread_join(n->watcher, NULL);
    }
    abort_all(n);
    for (size_t i = 0; i < n->channels.count; ++i) free(n->channels.items[i]);
    ons_vector_free(&n->channels);
    n->device->stream_free(n->own);
    n->device->event_free(n->reached);
    n->device->event_free(n->met);
    if (n->aborted != NULL) n->device->release_host(n->device, n->aborted, sizeof *n->aborted);
    ons_status_free(n->status);
    pthread_mutex_destroy(&n->lock);
    pthread_cond_destroy(&n->changed);
    free(n);
}
