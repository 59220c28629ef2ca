/* Messages between the stages of a pipeline: threads of one process (`local`) or processes (`mpi`).
 *
 * A channel carries messages one way from one stage to another, in order, unbuffered: `send` returns when the data may
 * be overwritten, `receive` when all of it is there. Both block; each channel is served by a stream of its own, so
 * nothing waits that need not. Messages have the size that both ends expect: anything else is a failure.
 *
 * A failure (a stage that ended with an error, died, left while others still need it, or does not answer) ends the
 * whole world: every call that waits and every later one returns at once, having done nothing, and `failure` says why.
 * Buffers of calls that returned are not touched any more.
 */
#ifndef ONSTAGE_RUNTIME_TRANSPORT_TRANSPORT_H
#define ONSTAGE_RUNTIME_TRANSPORT_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct ons_transport ons_transport;
typedef struct ons_channel ons_channel;

/* A part of a message whose parts lie apart in memory. */
typedef struct ons_message_part {
    void *data;
    size_t bytes;
} ons_message_part;

/* One stage's end of the world. Functions may be called from several threads, those of one channel from one at a time;
 * gather from one. */
struct ons_transport {
    const char *name; /* "local", "mpi" */
    uint32_t rank, ranks;
    uint32_t host_ranks; /* of the host that has most of them */
    bool shares_memory;  /* ranks are threads of one process: an address means the same to all */

    /* Both ends open with the same three numbers; `number` is unique among the channels of two ranks and below 2^31.
     * Not a meeting: it returns without the other end. `from` sends, `to` receives, one of them is this rank, and they
     * differ. The transport owns the channel. */
    ons_status *(*open)(ons_transport *transport, uint32_t from, uint32_t to, uint32_t number, ons_channel **channel);

    /* Lets data leave for another host before the receiver has asked for them, in small pieces: they need not wait for
     * its answer, which would come behind all that goes the other way. What is under way then takes the library's
     * memory at both ends, so it is for channels whose receiver is never far behind. At both ends, before the first
     * message. */
    void (*run_ahead)(ons_channel *channel);

    /* False: the world has failed. Neither allocates in the steady state. */
    bool (*send)(ons_channel *channel, const void *data, size_t bytes);
    bool (*receive)(ons_channel *channel, void *data, size_t bytes);

    /* A message in parts, of which both ends have as many, of the same sizes: as so many messages, but that the two
     * ends find each other once, where it need not go in pieces. Nothing is sent where there are none. */
    bool (*send_parts)(ons_channel *channel, const ons_message_part *parts, size_t count);
    bool (*receive_parts)(ons_channel *channel, const ons_message_part *parts, size_t count);

    /* Everybody's `bytes` at `mine` come to everybody's `all`, by rank; a meeting of all ranks. For small records at
     * the end of a step, and for what is done once. */
    bool (*gather)(ons_transport *transport, const void *mine, void *all, size_t bytes);

    /* Ends the world: everybody's `failure` has this code and this message, as it is ("stage 2: …"); `why` stays the
     * caller's. The first failure stays. */
    void (*fail)(ons_transport *transport, const ons_status *why);
    /* Why the world has failed, a new status; NULL: it has not. */
    ons_status *(*failure)(ons_transport *transport);
    /* Whether this rank is the one that tells the user why, so that it is told once: rank 0, or the first one that is
     * still there. */
    bool (*tells)(ons_transport *transport);

    /* Without a failure, mpi waits here until every rank has come to its own free: a last gather before it makes sure
     * that all have ended well. After a failure the rank that tells goes on at once, the others give it time to. */
    void (*free)(ons_transport *transport);
};

/* `transports[rank]` for the threads of one process; each is freed by itself, the last one frees the world. A send and
 * a receive meet: the sender copies from the one buffer into the other, and nothing is held between. */
ons_status *ons_local_transports_new(uint32_t ranks, ons_transport **transports);

/* The `silence_seconds` of every run. Each process gives a sign of life at least every half second, whatever it
 * computes, so this many without one are twenty that are missing: more than a busy host loses, and no longer than a
 * user waits to learn that a process is gone. */
enum { ONS_SILENCE_SECONDS = 10 };

/* This process's end of an MPI world (mpirun, or Slurm's srun). Once a process; free() also leaves MPI. A process that
 * has not been heard of for `silence_seconds` ends the world with a message that names its rank and host. Processes of
 * one host read what they send each other in each other's memory, where the system lets them (ONSTAGE_MPI_READS). */
ons_status *ons_mpi_transport_new(double silence_seconds, ons_transport **transport);

/* Tests whether this process was started by something that speaks MPI, by the usual environment variables of Open MPI,
 * PMI and Slurm; *ranks: of the world, as they say (1 where they say nothing). Starts nothing. */
bool ons_mpi_is_launched(uint32_t *ranks);

/* This process's number among those of its host, likewise; 0 where they say nothing. */
uint32_t ons_mpi_local_rank(void);

#endif
