/* Inside of the mpi transport. All MPI calls between start and end are made by one thread of the process, the progress
 * thread: messages of all channels, heartbeats, news of failures. The others put what they want on a list and sleep. So
 * waiting costs one thread's occasional look, however many channels wait; and once that thread has ended, nothing reads
 * or writes a user's buffer any more. Between processes of one host that may read each other's memory, messages go
 * without MPI and that thread, which then only listens for news (mpi_reads.c).
 */
#ifndef ONSTAGE_RUNTIME_TRANSPORT_MPI_WORLD_H
#define ONSTAGE_RUNTIME_TRANSPORT_MPI_WORLD_H

#include <mpi.h>
#include <pthread.h>
#include <sys/types.h>

#include "runtime/transport/transport.h"

typedef struct ons_mpi_world ons_mpi_world;
typedef struct ons_mpi_slot ons_mpi_slot;   /* where the ends of a channel tell each other, without MPI, … */
typedef struct ons_mpi_slots ons_mpi_slots; /* … and those of all channels on which a rank sends */

/* Messages larger than this go in pieces: MPI counts in int, and may copy a whole piece in one call, in which no
 * heartbeat goes out. A piece shorter than the limit, be it empty, is the last one: so both ends notice at once when
 * their sizes disagree. */
enum { ONS_MPI_PIECE_BYTES = 1 << 27 };

/* Over TCP, Open MPI sends up to 64 KiB with its own header at once, and asks the receiver before it sends more. */
enum { ONS_MPI_PIECE_AHEAD_BYTES = 60 << 10 };

/* One way to or from one rank. A gather uses channels of its own. */
struct ons_channel {
    ons_mpi_world *world;
    ons_channel *next; /* in the list of all */
    MPI_Comm comm;
    bool sends;
    bool gathers;
    uint32_t peer, number;
    size_t piece_bytes; /* of a message that goes in pieces; both ends have the same number */
    bool reads;         /* the receiver reads the sender's memory, until a message cannot be read */

    /* The message that is asked for; guarded by the world's lock until the progress thread takes it. */
    pthread_cond_t finished;
    bool pending;
    unsigned char *data;
    size_t bytes;
    const ons_message_part *parts; /* of a message that goes in one piece; NULL: it lies at `data` */
    size_t part_count;
    bool waits; /* for the other end of a channel that reads */

    /* Of a channel that reads: the thread's that sends or receives. */
    ons_mpi_slot *slot; /* NULL: the receiver has not found it yet */
    uint32_t messages;  /* sent, or received, so far */

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
    double silence_seconds, beat_seconds;
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

/* How a message ended that the receiver should read in the sender's memory. */
typedef enum ons_mpi_read { ONS_MPI_READ_DONE, ONS_MPI_READ_REFUSED, ONS_MPI_READ_FAILED } ons_mpi_read;

/* One way to or from one rank in a gather. */
typedef struct ons_mpi_gather_end {
    ons_channel *channel;
    ons_message_part part;
    ons_mpi_read read;
} ons_mpi_gather_end;

/* Whose memory can be read; set at the start. */
typedef struct ons_mpi_reads {
    ons_mpi_slots *own, **of; /* of: by rank; NULL: messages to and from it go by MPI */
    pid_t *processes;
} ons_mpi_reads;

struct ons_mpi_world {
    ons_transport transport; /* first: what the caller holds */
    MPI_Comm messages, gathers;
    int largest_tag;
    size_t piece_bytes;
    bool finalizes; /* MPI is ours to end */
    pthread_t thread;
    ons_mpi_watch watch;
    ons_mpi_reads reads;
    MPI_Aint *part_places; /* the progress thread's: of the message that it begins, as MPI wants it */
    int *part_sizes;
    size_t part_room;
    ons_channel *channels;
    ons_mpi_gather_end *gather_ends; /* two for each other rank */
    uint32_t gather_end_count;

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
ons_status *ons_mpi_transport_new_in_pieces(double silence_seconds, size_t piece_bytes, ons_transport **transport);

/* Gives the seconds of the monotonic clock. */
double ons_mpi_now(void);

/* mpi_progress.c: the thread, started and joined by the transport. */
void *ons_mpi_progress(void *world);

/* The receiver of a channel expects other bytes than come; `at_least`: "", or "at least ". */
void ons_mpi_world_fail_size(const ons_channel *channel, const char *at_least, size_t come, size_t expected);

/* mpi_reads.c. Lets other ranks read this process; before MPI starts, which may let others, too. */
void ons_mpi_reads_allow(void);
/* Finds out whose memory can be read; a meeting of all ranks, behind that of the watch. Fails where it
 * cannot be and ONSTAGE_MPI_READS is on. */
ons_status *ons_mpi_reads_init(ons_mpi_world *world);
void ons_mpi_reads_free(ons_mpi_world *world);
/* Sets channel->reads, for a channel that is new. */
ons_status *ons_mpi_reads_open(ons_channel *channel);
/* Begins to send; does nothing for the receiver, and where messages go by MPI. `parts` stay the caller's until the end.
 */
void ons_mpi_reads_post(ons_channel *channel, const ons_message_part *parts, size_t count);
/* Waits, either way, until the message is over. REFUSED, at both ends: it and all that follow on the channel go by MPI.
 */
ons_mpi_read ons_mpi_reads_finish(ons_channel *channel, const ons_message_part *parts, size_t count);

/* mpi_watch.c. A meeting of all ranks. */
ons_status *ons_mpi_watch_init(ons_mpi_world *world, double silence_seconds);
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
