#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/transport/mpi_world.h"

enum { TAG = 1, HOST = sizeof((ons_mpi_watch *)0)->hosts[0] };

static const double tell_seconds = 0.5, longest_beat_seconds = 0.5;

/* ---------------------------------------------------------------------------------------------------------- failure */

void ons_mpi_world_fail(ons_mpi_world *w, ons_status_code code, const char *reason) {
    pthread_mutex_lock(&w->lock);
    if (!w->failed) {
        w->failed = true;
        w->code = code;
        snprintf(w->reason, sizeof w->reason, "%s", reason);
        pthread_cond_signal(&w->wake);
    }
    pthread_mutex_unlock(&w->lock);
}

static void fail_silent(ons_mpi_world *w, uint32_t rank) {
    char reason[sizeof w->reason];
    snprintf(reason, sizeof reason,
             "rank %u on host %s has not answered for %g seconds: it was killed or stopped, or its host is gone", rank,
             w->watch.hosts[rank], w->watch.silence_seconds);
    w->watch.silent = rank;
    ons_mpi_world_fail(w, ONS_IO_ERROR, reason);
}

/* ---------------------------------------------------------------------------------------------------------- sending */

static size_t length_of(const ons_mpi_news *news) {
    return offsetof(ons_mpi_news, message) + strlen(news->message) + 1;
}

/* To each rank whose last one of this kind has gone out: one that does not listen gets no more. Errors are not looked
 * at here: a rank that cannot be reached is silent as well. One that was stopped and goes on hears that it is over. */
static void send_news(ons_mpi_world *w, const ons_mpi_news *news, MPI_Request *requests) {
    for (uint32_t rank = 0; rank < w->transport.ranks; ++rank) {
        int gone = 1;
        if (rank == w->transport.rank) continue;
        if (requests[rank] != MPI_REQUEST_NULL) MPI_Test(&requests[rank], &gone, MPI_STATUS_IGNORE);
        if (gone) MPI_Isend(news, (int)length_of(news), MPI_BYTE, (int)rank, TAG, w->watch.comm, &requests[rank]);
    }
}

static bool have_gone(ons_mpi_world *w, MPI_Request *requests) {
    int all = 1;
    for (uint32_t rank = 0; rank < w->transport.ranks; ++rank) {
        int gone = 1;
        if (requests[rank] != MPI_REQUEST_NULL) MPI_Test(&requests[rank], &gone, MPI_STATUS_IGNORE);
        all &= gone || rank == w->watch.silent;
    }
    return all;
}

/* ---------------------------------------------------------------------------------------------------------- hearing */

static int post_receive(ons_mpi_watch *watch) {
    return MPI_Irecv(&watch->incoming, sizeof watch->incoming, MPI_BYTE, MPI_ANY_SOURCE, TAG, watch->comm,
                     &watch->receive);
}

/* The first one that was told to others counts, also where this rank has just failed by itself: it may have been
 * stopped while the others gave it up, and what it does then fails for that reason alone. */
static void take_failure(ons_mpi_world *w, const ons_mpi_news *news) {
    if (w->watch.told) return;
    w->watch.told = true;
    pthread_mutex_lock(&w->lock);
    w->failed = true;
    w->teller = news->teller;
    w->code = (ons_status_code)news->code;
    snprintf(w->reason, sizeof w->reason, "%s", news->message);
    pthread_mutex_unlock(&w->lock);
}

static void receive_news(ons_mpi_world *w, double now) {
    ons_mpi_watch *watch = &w->watch;
    MPI_Status status;
    int arrived = 0;
    while (MPI_Test(&watch->receive, &arrived, &status) == MPI_SUCCESS && arrived) {
        ons_mpi_news *news = &watch->incoming;
        watch->heard[status.MPI_SOURCE] = now;
        if (news->kind == ONS_MPI_LEFT) watch->left[status.MPI_SOURCE] = now;
        if (news->kind == ONS_MPI_FAILED) take_failure(w, news);
        if (post_receive(watch) != MPI_SUCCESS) return;
    }
}

void ons_mpi_watch_tell(ons_mpi_world *w) {
    receive_news(w, ons_mpi_now());
    if (w->watch.told) return;
    uint32_t teller = 0;
    while (teller + 1 < w->transport.ranks && (teller == w->watch.silent || w->watch.left[teller] > 0)) ++teller;
    pthread_mutex_lock(&w->lock);
    w->teller = teller;
    w->watch.failed = (ons_mpi_news){.kind = ONS_MPI_FAILED, .teller = teller, .code = (int32_t)w->code};
    memcpy(w->watch.failed.message, w->reason, sizeof w->reason);
    pthread_mutex_unlock(&w->lock);
    send_news(w, &w->watch.failed, w->watch.fails);
    const struct timespec millisecond = {.tv_nsec = 1000000};
    for (double start = ons_mpi_now(); !have_gone(w, w->watch.fails) && ons_mpi_now() - start < tell_seconds;)
        nanosleep(&millisecond, NULL);
}

static void look_for_silence(ons_mpi_world *w, double now) {
    for (uint32_t rank = 0; rank < w->transport.ranks; ++rank)
        if (rank != w->transport.rank && now - w->watch.heard[rank] > w->watch.silence_seconds) {
            fail_silent(w, rank);
            return;
        }
}

bool ons_mpi_watch_is_gone(const ons_mpi_world *w, uint32_t rank, double now) {
    return w->watch.left[rank] > 0 && now - w->watch.left[rank] > w->watch.silence_seconds;
}

/* Every other rank has left as well, and knows that this one has. */
static bool all_have_left(ons_mpi_world *w) {
    for (uint32_t rank = 0; rank < w->transport.ranks; ++rank)
        if (rank != w->transport.rank && w->watch.left[rank] == 0) return false;
    return have_gone(w, w->watch.leaves);
}

bool ons_mpi_watch_turn(ons_mpi_world *w, bool parting) {
    ons_mpi_watch *watch = &w->watch;
    double now = ons_mpi_now();
    /* Who was stopped himself, as all of them are by Ctrl-Z, cannot say who was silent meanwhile. */
    if (now - watch->turned > 0.5 * watch->silence_seconds)
        for (uint32_t rank = 0; rank < w->transport.ranks; ++rank) watch->heard[rank] = now;
    watch->turned = now;
    receive_news(w, now);
    if (parting && !watch->leaving) {
        watch->leaving = true;
        send_news(w, &watch->leave, watch->leaves);
    }
    if (now - watch->beaten >= watch->beat_seconds) {
        watch->beaten = now;
        send_news(w, &watch->beat, watch->beats);
    }
    look_for_silence(w, now);
    return watch->leaving && all_have_left(w);
}

/* ---------------------------------------------------------------------------------------------------- start and end */

static MPI_Request *no_requests(uint32_t ranks) {
    MPI_Request *requests = malloc(ranks * sizeof *requests);
    for (uint32_t rank = 0; requests != NULL && rank < ranks; ++rank) requests[rank] = MPI_REQUEST_NULL;
    return requests;
}

static uint32_t count_host_ranks(const ons_mpi_world *w) {
    uint32_t most = 0;
    for (uint32_t i = 0; i < w->transport.ranks; ++i) {
        uint32_t count = 0;
        for (uint32_t k = 0; k < w->transport.ranks; ++k) count += strcmp(w->watch.hosts[i], w->watch.hosts[k]) == 0;
        most = count > most ? count : most;
    }
    return most;
}

ons_status *ons_mpi_watch_init(ons_mpi_world *w, double silence_seconds) {
    uint32_t ranks = w->transport.ranks;
    ons_mpi_watch *watch = &w->watch;
    watch->silence_seconds = silence_seconds;
    watch->beat_seconds = silence_seconds / 8 < longest_beat_seconds ? silence_seconds / 8 : longest_beat_seconds;
    watch->silent = UINT32_MAX;
    watch->beat.kind = ONS_MPI_BEAT;
    watch->leave.kind = ONS_MPI_LEFT;
    watch->heard = malloc(ranks * sizeof *watch->heard);
    watch->left = calloc(ranks, sizeof *watch->left);
    watch->hosts = calloc(ranks, sizeof *watch->hosts);
    watch->beats = no_requests(ranks);
    watch->leaves = no_requests(ranks);
    watch->fails = no_requests(ranks);
    if (watch->heard == NULL || watch->left == NULL || watch->hosts == NULL || watch->beats == NULL ||
        watch->leaves == NULL || watch->fails == NULL)
        return ons_status_out_of_memory();

    char host[MPI_MAX_PROCESSOR_NAME] = "";
    int length, error = MPI_Get_processor_name(host, &length);
    host[HOST - 1] = '\0';
    if (error == MPI_SUCCESS) error = MPI_Comm_dup(MPI_COMM_WORLD, &watch->comm);
    if (error == MPI_SUCCESS) error = MPI_Comm_set_errhandler(watch->comm, MPI_ERRORS_RETURN);
    if (error == MPI_SUCCESS) error = MPI_Allgather(host, HOST, MPI_CHAR, watch->hosts, HOST, MPI_CHAR, watch->comm);
    if (error == MPI_SUCCESS) error = post_receive(watch);
    ONS_CHECK(error == MPI_SUCCESS, ONS_IO_ERROR, "rank %u on host %s: MPI could not be started (error %d)",
              w->transport.rank, host, error);
    w->transport.host_ranks = count_host_ranks(w);
    watch->turned = watch->beaten = ons_mpi_now();
    for (uint32_t rank = 0; rank < ranks; ++rank) watch->heard[rank] = watch->turned;
    return NULL;
}

void ons_mpi_watch_free(ons_mpi_watch *watch) {
    free(watch->heard);
    free(watch->left);
    free(watch->hosts);
    free(watch->beats);
    free(watch->leaves);
    free(watch->fails);
}
