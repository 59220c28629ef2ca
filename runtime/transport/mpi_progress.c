#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

#include "runtime/transport/mpi_world.h"

/* How long the thread sleeps between two looks, in seconds: an eighth of the time since something last moved, so that
 * short waits end promptly and long ones cost next to nothing. MPI moves large messages only while it is looked at. */
static const double sleep_least = 20e-6, sleep_moving = 20e-6, sleep_sending = 100e-6, sleep_most = 1e-3;
static const double sleep_idle = 10e-3; /* no message is waited for; heartbeats and news are */

double ons_mpi_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void fail_mpi(ons_mpi_world *w, int error, const ons_channel *channel) {
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;
    MPI_Error_string(error, text, &length);
    ons_status *why =
        ons_status_new(ONS_IO_ERROR, "rank %u on host %s: %s rank %u on host %s: %s", w->transport.rank,
                       w->watch.hosts[w->transport.rank], channel->sends ? "sending to" : "receiving from",
                       channel->peer, w->watch.hosts[channel->peer], text);
    ons_mpi_world_fail(w, ons_status_get_code(why), ons_status_get_message(why));
    ons_status_free(why);
}

void ons_mpi_world_fail_size(const ons_channel *channel, const char *at_least, size_t come, size_t expected) {
    ons_mpi_world *w = channel->world;
    char name[32] = "a gather";
    if (!channel->gathers) snprintf(name, sizeof name, "channel %u", channel->number);
    ons_status *why = ons_status_new(ONS_DEFECT, "%s: rank %u sends %s%zu bytes, but rank %u expects %zu bytes", name,
                                     channel->peer, at_least, come, w->transport.rank, expected);
    ons_mpi_world_fail(w, ons_status_get_code(why), ons_status_get_message(why));
    ons_status_free(why);
}

/* A rank that has left answers nobody any more. */
static void fail_gone(ons_mpi_world *w, double now) {
    pthread_mutex_lock(&w->lock);
    const ons_channel *channel = w->channels;
    while (channel != NULL && !((channel->pending || channel->waits) && ons_mpi_watch_is_gone(w, channel->peer, now)))
        channel = channel->next;
    pthread_mutex_unlock(&w->lock);
    if (channel == NULL) return;
    char reason[sizeof w->reason];
    snprintf(reason, sizeof reason, "rank %u has left, and rank %u on host %s waits for it", channel->peer,
             w->transport.rank, w->watch.hosts[w->transport.rank]);
    ons_mpi_world_fail(w, ONS_DEFECT, reason);
}

/* What MPI is told of a piece. */
typedef struct memory {
    void *data;
    int count;
    MPI_Datatype type;
} memory;

static bool make_room(ons_mpi_world *w, size_t parts) {
    if (parts <= w->part_room) return true;
    MPI_Aint *places = realloc(w->part_places, parts * sizeof *places);
    if (places != NULL) w->part_places = places;
    int *sizes = realloc(w->part_sizes, parts * sizeof *sizes);
    if (sizes != NULL) w->part_sizes = sizes;
    if (places == NULL || sizes == NULL) return false;
    w->part_room = parts;
    return true;
}

/* Parts are a type of their own: MPI copies them without anybody gathering them first. */
static int describe_parts(ons_mpi_world *w, const ons_channel *channel, memory *m) {
    if (!make_room(w, channel->part_count)) return MPI_ERR_NO_MEM;
    for (size_t i = 0; i < channel->part_count; ++i) {
        w->part_sizes[i] = (int)channel->parts[i].bytes;
        MPI_Get_address(channel->parts[i].data, &w->part_places[i]);
    }
    *m = (memory){.data = MPI_BOTTOM, .count = 1};
    int error = MPI_Type_create_hindexed((int)channel->part_count, w->part_sizes, w->part_places, MPI_BYTE, &m->type);
    return error == MPI_SUCCESS ? MPI_Type_commit(&m->type) : error;
}

static int describe(ons_mpi_world *w, const ons_channel *channel, size_t piece, memory *m) {
    if (channel->parts != NULL) return describe_parts(w, channel, m);
    *m = (memory){channel->data + channel->moved, (int)piece, MPI_BYTE};
    return MPI_SUCCESS;
}

/* What is under way keeps a type as long as it needs it. */
static void forget(const ons_channel *channel, memory *m) {
    if (channel->parts != NULL) MPI_Type_free(&m->type);
}

static int begin_send(ons_mpi_world *w, ons_channel *channel, size_t piece) {
    memory m;
    int error = describe(w, channel, piece, &m);
    if (error != MPI_SUCCESS) return error;
    error =
        MPI_Isend(m.data, m.count, m.type, (int)channel->peer, (int)channel->number, channel->comm, &channel->request);
    forget(channel, &m);
    return error;
}

static int begin_receive(ons_mpi_world *w, ons_channel *channel, size_t piece, MPI_Message *message) {
    memory m;
    int error = describe(w, channel, piece, &m);
    if (error != MPI_SUCCESS) return error;
    error = MPI_Imrecv(m.data, m.count, m.type, message, &channel->request);
    forget(channel, &m);
    return error;
}

/* Hands the next piece to MPI; false: it is not there yet. */
static bool begin_piece(ons_mpi_world *w, ons_channel *channel) {
    size_t rest = channel->bytes - channel->moved;
    size_t piece = rest < channel->piece_bytes ? rest : channel->piece_bytes;
    int error, there = 1;
    if (channel->sends) {
        error = begin_send(w, channel, piece);
    } else {
        MPI_Message message;
        MPI_Status status;
        int arrived = 0;
        error = MPI_Improbe((int)channel->peer, (int)channel->number, channel->comm, &there, &message, &status);
        if (error == MPI_SUCCESS && !there) return false;
        if (error == MPI_SUCCESS) error = MPI_Get_count(&status, MPI_BYTE, &arrived);
        if (error == MPI_SUCCESS && (size_t)arrived != piece) {
            const char *at_least = (size_t)arrived == channel->piece_bytes ? "at least " : "";
            ons_mpi_world_fail_size(channel, at_least, channel->moved + (size_t)arrived, channel->bytes);
            return false;
        }
        if (error == MPI_SUCCESS) error = begin_receive(w, channel, piece, &message);
    }
    if (error != MPI_SUCCESS) {
        fail_mpi(w, error, channel);
        return false;
    }
    channel->piece = piece;
    return channel->in_flight = true;
}

/* Moves a message on; *moved: something happened. True: all of it has arrived, or may be overwritten. */
static bool advance(ons_mpi_world *w, ons_channel *channel, bool *moved) {
    while (channel->in_flight || begin_piece(w, channel)) {
        int done = 0, error = MPI_Test(&channel->request, &done, MPI_STATUS_IGNORE);
        if (error != MPI_SUCCESS) fail_mpi(w, error, channel);
        if (error != MPI_SUCCESS || !done) return false;
        *moved = true;
        channel->in_flight = false;
        channel->moved += channel->piece;
        if (channel->piece < channel->piece_bytes) return true;
    }
    return false;
}

/* Adds what was asked for to the active ones. False: the world has failed. */
static bool take_asked(ons_mpi_world *w, ons_channel **active, bool *moved, bool *parting) {
    pthread_mutex_lock(&w->lock);
    while (w->asked != NULL) {
        ons_channel *channel = w->asked;
        w->asked = channel->next_active;
        channel->next_active = *active;
        *active = channel;
        *moved = true;
    }
    bool good = !w->failed;
    *parting = w->parting;
    pthread_mutex_unlock(&w->lock);
    return good;
}

static void advance_all(ons_mpi_world *w, ons_channel **active, bool *moved) {
    ons_channel **link = active;
    while (*link != NULL) {
        ons_channel *channel = *link;
        if (!advance(w, channel, moved)) {
            link = &channel->next_active;
            continue;
        }
        *link = channel->next_active; /* before the owner may ask again */
        pthread_mutex_lock(&w->lock);
        channel->pending = false;
        pthread_cond_signal(&channel->finished);
        pthread_mutex_unlock(&w->lock);
    }
}

static double sleep_for(const ons_channel *active, double waited) {
    double most = active == NULL ? sleep_idle : sleep_most;
    for (; active != NULL; active = active->next_active) {
        double here = !active->in_flight ? sleep_most : active->sends ? sleep_sending : sleep_moving;
        if (here < most) most = here;
    }
    double wanted = waited / 8;
    return wanted < sleep_least ? sleep_least : wanted < most ? wanted : most;
}

/* Until the time is over or somebody asks for something. */
static void rest(ons_mpi_world *w, double seconds) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    long nanoseconds = until.tv_nsec + (long)(1e9 * seconds);
    until.tv_sec += nanoseconds / 1000000000;
    until.tv_nsec = nanoseconds % 1000000000;
    pthread_mutex_lock(&w->lock);
    if (w->asked == NULL && !w->failed) pthread_cond_timedwait(&w->wake, &w->lock, &until);
    pthread_mutex_unlock(&w->lock);
}

/* Nobody waits any more: what is still pending has failed. */
static void stop(ons_mpi_world *w) {
    pthread_mutex_lock(&w->lock);
    w->stopped = true;
    for (ons_channel *channel = w->channels; channel != NULL; channel = channel->next)
        pthread_cond_broadcast(&channel->finished);
    pthread_cond_broadcast(&w->stops);
    pthread_mutex_unlock(&w->lock);
}

void *ons_mpi_progress(void *world) {
    ons_mpi_world *w = world;
    ons_channel *active = NULL;
    double last_moved = ons_mpi_now(), watched = 0;
    prctl(PR_SET_TIMERSLACK, 1000UL); /* nanoseconds: the system would add 50 microseconds to each sleep */
    for (bool left = false, parting = false; !left;) {
        bool moved = false;
        if (!take_asked(w, &active, &moved, &parting)) {
            ons_mpi_watch_tell(w);
            break;
        }
        advance_all(w, &active, &moved);
        double now = ons_mpi_now();
        if (now - watched >= 0.5 * sleep_idle) {
            left = ons_mpi_watch_turn(w, parting);
            fail_gone(w, now);
            watched = now;
        }
        if (moved)
            last_moved = now;
        else if (now - last_moved < sleep_least)
            sched_yield();
        else
            rest(w, sleep_for(active, now - last_moved));
    }
    stop(w);
    return NULL;
}
