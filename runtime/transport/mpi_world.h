/* Inside of the mpi transport. All MPI calls between start and end are made by one thread of the process, the progress
 * thread: messages of all channels, heartbeats, news of failures. The others put what they want on a list and sleep. So
 * waiting costs one thread's occasional look, however many channels wait; and once that thread has ended, nothing reads
 * or writes a user's buffer any more.
 */
#ifndef ONSTAGE_RUNTIME_TRANSPORT_MPI_WORLD_H
#define ONSTAGE_RUNTIME_TRANSPORT_MPI_WORLD_H

#include <mpi.h>
#include <pthread.h>

#include "runtime/transport/transport.h"

typedef struct ons_mpi_world ons_mpi_world;

/* Messages larger than this go in pieces: MPI counts in int, and may copy a whole piece in one call, in which no
 * heartbeat goes out. A piece shorter than the limit, be it empty, is the last one: so both ends notice at once when
 * their sizes disagree. */
enum { ONS_MPI_PIECE_BYTES = 1 << 27 };

/* Over TCP, Open MPI sends up to 64 KiB with its own header at once, and asks the receiver before it sends more. */
enum { ONS_MPI_PIECE_AHEAD_BYTES = 60 << 10 };

/* One way to or from one rank. A gather uses channels of its own, two for each other rank. */
struct ons_channel {
    ons_mpi_world *world;
    ons_channel *next; /* in the list of all */
    MPI_Comm comm;
    bool sends;
    bool gathers;
    uint32_t peer, number;
    size_t piece_bytes; /* the same at both ends */

    /* The message that is asked for; guarded by the world's lock until the progress thread takes it. */
    pthread_cond_t finished;
    bool pending;
    unsigned char *data;
    size_t bytes;
    const ons_message_part *parts; /* of a message that goes in one piece; NULL: it lies at `data` */
    size_t part_count;

    /* The progress thread's. */
    ons_channel *next_active; /* also in the list of those asked for */
    size_t moved, piece;
    bool in_flight;
    MPI_Request request;
};

/* What ranks tell each other beside the messages. */
typedef enum ons_mpi_news_kind { ONS_MPI_BEAT, ONS_MPI_LEFT, ONS_MPI_FAILED } ons_mpi_news_kind;

typedef struct ons_mpi_news {
    uint32_t kind;
    uint32_t teller; /* FAILED: the rank that tells the user */
    int32_t code;
    char message[1000]; /* short enough that MPI sends it eagerly: nobody need wait for it */
} ons_mpi_news;

/* Heartbeats, and news of failures; the progress thread's alone. Arrays by rank. */
typedef struct ons_mpi_watch {
    MPI_Comm comm;
    double stall_seconds, beat_seconds;
    double turned, beaten; /* when last */
    double *heard;
    double *left; /* 0: not yet */
    char (*hosts)[64];
    ons_mpi_news incoming, beat, leave, failed;
    MPI_Request receive;
    MPI_Request *beats, *leaves, *fails; /* to each rank */
    bool leaving;
    uint32_t silent; /* the rank that does not answer; UINT32_MAX: all do */
    bool told;       /* another rank told of the failure, and who tells the user */
} ons_mpi_watch;

struct ons_mpi_world {
    ons_transport transport; /* first: what the caller holds */
    MPI_Comm messages, gathers;
    int largest_tag;
    size_t piece_bytes;
    bool finalizes; /* MPI is ours to end */
    pthread_t thread;
    ons_mpi_watch watch;
    MPI_Aint *part_places; /* the progress thread's: of the message that it begins, as MPI wants it */
    int *part_sizes;
    size_t part_room;
    ons_channel *channels;
    ons_channel **gather_out, **gather_in; /* by rank; NULL for our own */

    pthread_mutex_t lock; /* for all below, and what is pending */
    pthread_cond_t wake;  /* for the progress thread */
    ons_channel *asked;   /* newest first */
    bool failed;          /* reason, code and teller are set, and stay */
    bool parting;
    bool stopped; /* the progress thread calls MPI no more */
    pthread_cond_t stops;
    ons_status_code code;
    uint32_t teller; /* the progress thread's until it has stopped */
    char reason[sizeof((ons_mpi_news *)0)->message];
};

/* ons_mpi_transport_new with another limit for pieces, for tests. */
ons_status *ons_mpi_transport_new_in_pieces(double stall_seconds, size_t piece_bytes, ons_transport **transport);

/* Gives the seconds of the monotonic clock. */
double ons_mpi_now(void);

/* mpi_progress.c: the thread, started and joined by the transport. */
void *ons_mpi_progress(void *world);

/* mpi_watch.c. A meeting of all ranks. */
ons_status *ons_mpi_watch_init(ons_mpi_world *world, double stall_seconds);
void ons_mpi_watch_free(ons_mpi_watch *watch);
/* Hears and tells what is due; may end the world. True: all ranks have left, and know it. */
bool ons_mpi_watch_turn(ons_mpi_world *world, bool parting);
/* Tests whether a rank has left for so long that nothing of it can be under way any more. */
bool ons_mpi_watch_is_gone(const ons_mpi_world *world, uint32_t rank, double now);
/* Lets the others know why the world has failed; takes half a second at most. */
void ons_mpi_watch_tell(ons_mpi_world *world);
/* Sets the reason unless there is one. For any thread. */
void ons_mpi_world_fail(ons_mpi_world *world, ons_status_code code, const char *reason);

#endif
