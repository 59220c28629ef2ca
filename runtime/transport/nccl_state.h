/* What NCCL's transport consists of: shared by transport_nccl.c (messages, failures, its life) and nccl_connect.c. */
#ifndef ONSTAGE_RUNTIME_TRANSPORT_NCCL_STATE_H
#define ONSTAGE_RUNTIME_TRANSPORT_NCCL_STATE_H

#include <pthread.h>

#include "base/vector.h"
#include "runtime/transport/nccl_api.h"
#include "runtime/transport/transport_nccl.h"

struct ons_nccl_channel {
    ons_nccl *nccl;
    uint32_t from, to, number;
    bool sends;
    uint32_t other;
    ons_stream *stream;
    ons_channel *carrier; /* of the id */
    void *comm;
};

struct ons_nccl_circle {
    ons_nccl *nccl;
    const uint32_t *ranks;
    uint32_t count, own;
    ons_stream *stream;
    ons_channel **carriers; /* of the id, from the first rank to each; [0] to this one where it is another */
    void *comm;
    bool goes; /* between begin and end */
};

struct ons_nccl {
    const ons_nccl_api *api;
    ons_transport *transport;
    ons_device *device;
    uint32_t stages;                         /* of a replica */
    ONS_VECTOR(ons_nccl_circle *) circles;   /* in the order in which all ranks connect them */
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

enum { ONS_NCCL_SENDER, ONS_NCCL_RECEIVER }; /* ranks of a channel's communicator */

/* transport_nccl.c */

/* A failure where NCCL reports one, with what this rank was at. `other`: with which rank; UINT32_MAX: nobody else, or
 * all. */
ons_status *ons_nccl_status(const ons_nccl *nccl, int result, void *comm, const char *what, uint32_t other);
/* Tells all ranks of a failure, which is freed; NULL is fine. */
void ons_nccl_tell(const ons_nccl *nccl, ons_status *status);
bool ons_nccl_world_has_failed(const ons_nccl *nccl);
/* With the lock held: until something has changed or it is time to look again. */
void ons_nccl_doze(ons_nccl *nccl);
/* The largest of all ranks' numbers, which lie in the device's memory. */
void ons_nccl_maximum(ons_nccl *nccl, uintptr_t stream, void *number);
/* A thread that looks after the world. */
void *ons_nccl_watch(void *nccl);

#endif
