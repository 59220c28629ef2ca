#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/transport/nccl_state.h"

enum { LOOK_NANOSECONDS = 20 * 1000 * 1000 };

ons_status *ons_nccl_check(void) {
    const ons_nccl_api *api;
    return ons_nccl_load(&api);
}

/* --------------------------------------------------------------------------------------------------------- failures */

/* As messages name a rank: by its replica, too, where there are several. */
enum { NAME_BYTES = 48 };
static const char *name_of(const ons_nccl *n, uint32_t rank, char name[static NAME_BYTES]) {
    if (n->transport->ranks == n->stages)
        snprintf(name, NAME_BYTES, "stage %u", rank);
    else
        snprintf(name, NAME_BYTES, "replica %u, stage %u", rank / n->stages, rank % n->stages);
    return name;
}

/* `other`: UINT32_MAX: it concerns nobody else, or all. */
ons_status *ons_nccl_status(const ons_nccl *n, int result, void *comm, const char *what, uint32_t other) {
    char own[NAME_BYTES], theirs[NAME_BYTES];
    if (result == ONS_NCCL_SUCCESS || result == ONS_NCCL_IN_PROGRESS) return NULL;
    const char *more = n->api->get_last_error(comm);
    more = more == NULL || more[0] == 0 ? "no more is known" : more;
    name_of(n, n->transport->rank, own);
    if (other == UINT32_MAX)
        return ons_status_new(ONS_IO_ERROR, "%s: NCCL, %s: %s (%s)", own, what, n->api->get_error_string(result), more);
    return ons_status_new(ONS_IO_ERROR, "%s: NCCL, %s %s: %s (%s)", own, what, name_of(n, other, theirs),
                          n->api->get_error_string(result), more);
}

void ons_nccl_tell(const ons_nccl *n, ons_status *status) {
    if (status == NULL) return;
    n->transport->fail(n->transport, status);
    ons_status_free(status);
}

bool ons_nccl_world_has_failed(const ons_nccl *n) {
    ons_status *failure = n->transport->failure(n->transport);
    ons_status_free(failure);
    return failure != NULL;
}

/* With the lock held: until something has changed or it is time to look again. */
void ons_nccl_doze(ons_nccl *n) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += LOOK_NANOSECONDS;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&n->changed, &n->lock, &until);
}

/* --------------------------------------------------------------------------------------------------------- messages */

/* Calls into NCCL, and the end of its communicators, exclude each other. */
static bool enter(ons_nccl *n) {
    pthread_mutex_lock(&n->lock);
    bool goes = !n->stopped;
    n->calls += goes;
    pthread_mutex_unlock(&n->lock);
    return goes;
}

static void leave_call(ons_nccl *n) {
    pthread_mutex_lock(&n->lock);
    --n->calls;
    pthread_cond_broadcast(&n->changed);
    pthread_mutex_unlock(&n->lock);
}

static const char exchanging[] = "sums over replicas";

void ons_nccl_send(ons_nccl_channel *c, uintptr_t stream, const void *data, size_t bytes) {
    ons_nccl *n = c->nccl;
    if (!enter(n)) return;
    int result = n->api->send(data, bytes, ONS_NCCL_UINT8, ONS_NCCL_RECEIVER, c->comm, (void *)stream);
    ons_nccl_tell(n, ons_nccl_status(n, result, c->comm, "sending to", c->other));
    leave_call(n);
}

void ons_nccl_receive(ons_nccl_channel *c, uintptr_t stream, void *data, size_t bytes) {
    ons_nccl *n = c->nccl;
    if (!enter(n)) return;
    int result = n->api->recv(data, bytes, ONS_NCCL_UINT8, ONS_NCCL_SENDER, c->comm, (void *)stream);
    ons_nccl_tell(n, ons_nccl_status(n, result, c->comm, "receiving from", c->other));
    leave_call(n);
}

void ons_nccl_begin(ons_nccl_circle *c) {
    c->goes = enter(c->nccl);
    if (c->goes) c->nccl->api->group_start();
}

void ons_nccl_end(ons_nccl_circle *c) {
    ons_nccl *n = c->nccl;
    if (!c->goes) return;
    c->goes = false;
    ons_nccl_tell(n, ons_nccl_status(n, n->api->group_end(), c->comm, exchanging, UINT32_MAX));
    leave_call(n);
}

void ons_nccl_circle_send(ons_nccl_circle *c, uint32_t other, uintptr_t stream, const void *data, size_t bytes) {
    ons_nccl *n = c->nccl;
    if (!c->goes) return;
    int result = n->api->send(data, bytes, ONS_NCCL_UINT8, (int)other, c->comm, (void *)stream);
    ons_nccl_tell(n, ons_nccl_status(n, result, c->comm, "sending to", c->ranks[other]));
}

void ons_nccl_circle_receive(ons_nccl_circle *c, uint32_t other, uintptr_t stream, void *data, size_t bytes) {
    ons_nccl *n = c->nccl;
    if (!c->goes) return;
    int result = n->api->recv(data, bytes, ONS_NCCL_UINT8, (int)other, c->comm, (void *)stream);
    ons_nccl_tell(n, ons_nccl_status(n, result, c->comm, "receiving from", c->ranks[other]));
}

void ons_nccl_maximum(ons_nccl *n, uintptr_t stream, void *number) {
    if (!enter(n)) return;
    int result = n->api->all_reduce(number, number, 1, ONS_NCCL_UINT64, ONS_NCCL_MAX, n->world, (void *)stream);
    ons_nccl_tell(n, ons_nccl_status(n, result, n->world, "meeting all", UINT32_MAX));
    leave_call(n);
}

_Static_assert(sizeof(((ons_fault *)NULL)->problem) == sizeof(uint64_t) && offsetof(ons_fault, problem) == 0,
               "a fault begins with a number that is 0 where there is none");

void ons_nccl_share_fault(ons_nccl *n, uintptr_t stream) { ons_nccl_maximum(n, stream, n->fault); }

/* --------------------------------------------------------------------------------------------------------- watching */

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
    for (int i = 0; i < LOOKS && n->calls > 0; ++i) ons_nccl_doze(n);
    pthread_mutex_unlock(&n->lock);
    for (size_t i = 0; i < n->channels.count; ++i) {
        if (n->channels.items[i]->comm != NULL) n->api->comm_abort(n->channels.items[i]->comm);
        n->channels.items[i]->comm = NULL;
    }
    for (size_t i = 0; i < n->circles.count; ++i) {
        if (n->circles.items[i]->comm != NULL) n->api->comm_abort(n->circles.items[i]->comm);
        n->circles.items[i]->comm = NULL;
    }
    if (n->world != NULL) n->api->comm_abort(n->world);
    n->world = NULL;
}

static ons_status *error_of(const ons_nccl *n, void *comm, const char *what, uint32_t other) {
    int error = ONS_NCCL_SUCCESS;
    int result = n->api->comm_get_async_error(comm, &error);
    return ons_nccl_status(n, result != ONS_NCCL_SUCCESS ? result : error, comm, what, other);
}

static ons_status *look_for_failure(const ons_nccl *n) {
    for (size_t i = 0; i < n->channels.count; ++i) {
        const ons_nccl_channel *c = n->channels.items[i];
        ONS_TRY(error_of(n, c->comm, c->sends ? "messages to" : "messages from", c->other));
    }
    for (size_t i = 0; i < n->circles.count; ++i)
        ONS_TRY(error_of(n, n->circles.items[i]->comm, exchanging, UINT32_MAX));
    return error_of(n, n->world, "meetings of all", UINT32_MAX);
}

void *ons_nccl_watch(void *argument) {
    ons_nccl *n = argument;
    bool failed = false;
    while (!failed) {
        pthread_mutex_lock(&n->lock);
        if (!n->ends) ons_nccl_doze(n);
        bool ends = n->ends;
        pthread_mutex_unlock(&n->lock);
        if (ends) return NULL;
        ons_nccl_tell(n, look_for_failure(n));
        failed = ons_nccl_world_has_failed(n);
    }
    stop_updates(n);
    abort_all(n);
    return NULL;
}

/* ---------------------------------------------------------------------------------------------------- start and end */

ons_status *ons_nccl_new(ons_transport *transport, ons_device *device, uint32_t stages, ons_nccl **result) {
    const ons_nccl_api *api;
    void *page = NULL;
    ONS_TRY(ons_nccl_load(&api));
    ons_nccl *n = calloc(1, sizeof *n);
    if (n == NULL) return ons_status_out_of_memory();
    n->api = api;
    n->transport = transport;
    n->device = device;
    n->stages = stages;
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
    for (size_t i = 0; i < n->circles.count; ++i) {
        free(n->circles.items[i]->carriers);
        free(n->circles.items[i]);
    }
    ons_vector_free(&n->circles);
    n->device->stream_free(n->own);
    n->device->event_free(n->reached);
    n->device->event_free(n->met);
    if (n->aborted != NULL) n->device->release_host(n->device, n->aborted, sizeof *n->aborted);
    ons_status_free(n->status);
    pthread_mutex_destroy(&n->lock);
    pthread_cond_destroy(&n->changed);
    free(n);
}
