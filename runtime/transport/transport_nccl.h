/* Messages between stages that have a GPU each: NCCL, beside a transport of the host (local or mpi), which carries
 * NCCL's ids, everything that is the host's, and failures.
 *
 * A channel is a communicator of two ranks for one way, so that what waits on one never keeps another waiting. Messages
 * are put on the channel's stream and go in its order, the same at both ends: what they are follows from their place
 * alone. All is connected, and every pair has met once, before the first step: later calls take no memory.
 *
 * A circle is a communicator of several ranks, each of which exchanges messages with each other: the replicas of a
 * stage. What is put between its begin and end goes together, so that none of it waits for another.
 *
 * One watcher a rank looks after the world: where it has failed, or NCCL reports an error, everything that waits on
 * this GPU is aborted, no update runs any more, and the transport's failure says why. NCCL knows of one rank a GPU
 * only; stages that share a GPU have links.h.
 */
#ifndef ONSTAGE_RUNTIME_TRANSPORT_TRANSPORT_NCCL_H
#define ONSTAGE_RUNTIME_TRANSPORT_TRANSPORT_NCCL_H

#include "device/device.h"
#include "graph/operator.h"
#include "runtime/transport/transport.h"

typedef struct ons_nccl ons_nccl;
typedef struct ons_nccl_channel ons_nccl_channel;
typedef struct ons_nccl_circle ons_nccl_circle;

/* Checks whether the library is there; a failure says what to do. */
ons_status *ons_nccl_check(void);

/* This rank's end. `transport` and `device` (of the rank's own GPU) outlive it. `stages`: ranks of a replica, by which
 * messages name a rank. */
ons_status *ons_nccl_new(ons_transport *transport, ons_device *device, uint32_t stages, ons_nccl **nccl);
/* Frees NCCL, after what was put on streams has run, and recordings are freed. NULL is fine. */
void ons_nccl_free(ons_nccl *nccl);

/* Opens a channel as transport->open does; its messages are put on `stream` alone. `nccl` owns it. */
ons_status *ons_nccl_open(ons_nccl *nccl, uint32_t from, uint32_t to, uint32_t number, ons_stream *stream,
                          ons_nccl_channel **channel);

/* Opens this rank's end of a circle, of which `ranks[own]` is this one and `number` is as that of a channel; its
 * messages are put on `stream` alone. Each rank opens its circles in the same order. `nccl` owns it, and reads `ranks`
 * as long as it lives. */
ons_status *ons_nccl_open_circle(ons_nccl *nccl, const uint32_t *ranks, uint32_t count, uint32_t own, uint32_t number,
                                 ons_stream *stream, ons_nccl_circle **circle);

/* Connects all ranks, which meet here once, when each has opened its channels and circles. `fault` is the device's, and
 * empty; `scratch` 16 bytes of the device's, which change. */
ons_status *ons_nccl_connect(ons_nccl *nccl, ons_stream *compute, ons_fault *fault, void *scratch);

/* Puts a message on the stream, `bytes` of the device's memory. What goes wrong is told by the transport's failure. */
void ons_nccl_send(ons_nccl_channel *channel, uintptr_t stream, const void *data, size_t bytes);
void ons_nccl_receive(ons_nccl_channel *channel, uintptr_t stream, void *data, size_t bytes);

/* Begin and end what goes together on a circle; at most ONS_NCCL_TOGETHER messages. */
enum { ONS_NCCL_TOGETHER = 2048 };
void ons_nccl_begin(ons_nccl_circle *circle);
void ons_nccl_end(ons_nccl_circle *circle);
/* Put a message in between, to or from the circle's rank number `other`. */
void ons_nccl_circle_send(ons_nccl_circle *circle, uint32_t other, uintptr_t stream, const void *data, size_t bytes);
void ons_nccl_circle_receive(ons_nccl_circle *circle, uint32_t other, uintptr_t stream, void *data, size_t bytes);

/* Shares the faults of all ranks: each is not empty then where one is not. Of another rank's nothing but that can be
 * read. (The largest of some numbers is the same in any order: NCCL may choose it.) */
void ons_nccl_share_fault(ons_nccl *nccl, uintptr_t stream);

#endif
