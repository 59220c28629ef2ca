#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/environment.h"
#include "runtime/transport/mpi_start.h"
#include "runtime/transport/mpi_world.h"

static ons_mpi_world *world_of(ons_transport *transport) { return (ons_mpi_world *)transport; }

/* --------------------------------------------------------------------------------------------------------- messages */

static bool start_parts(ons_channel *channel, const ons_message_part *parts, size_t count, void *data, size_t bytes) {
    ons_mpi_world *w = channel->world;
    pthread_mutex_lock(&w->lock);
    bool good = !w->failed && !w->parting;
    if (good) {
        channel->data = data;
        channel->bytes = bytes;
        channel->parts = parts;
        channel->part_count = count;
        channel->moved = 0;
        channel->in_flight = false;
        channel->pending = true;
        channel->next_active = w->asked;
        w->asked = channel;
        pthread_cond_signal(&w->wake);
    }
    while (w->failed && !w->stopped) pthread_cond_wait(&w->stops, &w->lock);
    pthread_mutex_unlock(&w->lock);
    return good;
}

static bool start(ons_channel *channel, void *data, size_t bytes) { return start_parts(channel, NULL, 0, data, bytes); }

static bool finish(ons_channel *channel) {
    ons_mpi_world *w = channel->world;
    pthread_mutex_lock(&w->lock);
    while (channel->pending && !w->stopped) pthread_cond_wait(&channel->finished, &w->lock);
    bool good = !channel->pending;
    pthread_mutex_unlock(&w->lock);
    return good;
}

/* Either way. What would need several pieces goes part by part. */
static bool transfer_parts(ons_channel *channel, const ons_message_part *parts, size_t count) {
    size_t bytes = 0;
    bool good = true;
    ons_mpi_reads_post(channel, parts, count);
    ons_mpi_read read = ons_mpi_reads_finish(channel, parts, count);
    if (read != ONS_MPI_READ_REFUSED) return read == ONS_MPI_READ_DONE;
    for (size_t i = 0; i < count; ++i) bytes += parts[i].bytes;
    if (count > 1 && bytes < channel->piece_bytes)
        return start_parts(channel, parts, count, NULL, bytes) && finish(channel);
    for (size_t i = 0; i < count && good; ++i) good = start(channel, parts[i].data, parts[i].bytes) && finish(channel);
    return good;
}

/* What is sent is only read. */
static bool send_message(ons_channel *channel, const void *data, size_t bytes) {
    return transfer_parts(channel, &(ons_message_part){(void *)(uintptr_t)data, bytes}, 1);
}

static bool receive_message(ons_channel *channel, void *data, size_t bytes) {
    return transfer_parts(channel, &(ons_message_part){data, bytes}, 1);
}

/* Who can be read is, first those who write: so nobody waits for somebody who waits for him. The rest goes by MPI. */
static bool meet(ons_mpi_gather_end *ends, uint32_t count) {
    bool good = true;
    for (uint32_t i = 0; i < count; ++i) ons_mpi_reads_post(ends[i].channel, &ends[i].part, 1);
    for (int sends = 0; sends < 2; ++sends)
        for (uint32_t i = 0; good && i < count; ++i) {
            if (ends[i].channel->sends != (sends == 1)) continue;
            ends[i].read = ons_mpi_reads_finish(ends[i].channel, &ends[i].part, 1);
            good = ends[i].read != ONS_MPI_READ_FAILED;
        }
    for (uint32_t i = 0; good && i < count; ++i)
        if (ends[i].read == ONS_MPI_READ_REFUSED) good = start(ends[i].channel, ends[i].part.data, ends[i].part.bytes);
    for (uint32_t i = 0; good && i < count; ++i)
        if (ends[i].read == ONS_MPI_READ_REFUSED) good = finish(ends[i].channel);
    return good;
}

static bool gather(ons_transport *transport, const void *mine, void *all, size_t bytes) {
    ons_mpi_world *w = world_of(transport);
    unsigned char *records = all;
    if (bytes > 0) memcpy(records + transport->rank * bytes, mine, bytes);
    for (uint32_t i = 0; i < w->gather_end_count; ++i) {
        ons_mpi_gather_end *end = &w->gather_ends[i];
        end->part.bytes = bytes;
        end->part.data = end->channel->sends ? (void *)(uintptr_t)mine : records + end->channel->peer * bytes;
    }
    return meet(w->gather_ends, w->gather_end_count);
}

/* --------------------------------------------------------------------------------------------------------- channels */

static ons_channel *add_channel(ons_mpi_world *w, MPI_Comm comm, bool sends, uint32_t peer, uint32_t number) {
    ons_channel *channel = calloc(1, sizeof *channel);
    if (channel == NULL) return NULL;
    channel->world = w;
    channel->comm = comm;
    channel->sends = sends;
    channel->peer = peer;
    channel->number = number;
    channel->piece_bytes = w->piece_bytes;
    pthread_cond_init(&channel->finished, NULL);
    pthread_mutex_lock(&w->lock);
    channel->next = w->channels;
    w->channels = channel;
    pthread_mutex_unlock(&w->lock);
    return channel;
}

static bool is_open(ons_mpi_world *w, bool sends, uint32_t peer, uint32_t number) {
    pthread_mutex_lock(&w->lock);
    const ons_channel *channel = w->channels;
    while (channel != NULL &&
           (channel->gathers || channel->sends != sends || channel->peer != peer || channel->number != number))
        channel = channel->next;
    pthread_mutex_unlock(&w->lock);
    return channel != NULL;
}

static ons_status *open_channel(ons_transport *transport, uint32_t from, uint32_t to, uint32_t number,
                                ons_channel **result) {
    ons_mpi_world *w = world_of(transport);
    ONS_CHECK(from < transport->ranks && to < transport->ranks && from != to &&
                  (from == transport->rank || to == transport->rank) && number <= INT32_MAX,
              ONS_DEFECT, "rank %u of %u cannot open channel %u from rank %u to rank %u", transport->rank,
              transport->ranks, number, from, to);
    ONS_CHECK(number <= (uint32_t)w->largest_tag, ONS_UNSUPPORTED, "channel %u: this MPI numbers channels up to %d",
              number, w->largest_tag);
    bool sends = from == transport->rank;
    uint32_t peer = sends ? to : from;
    ONS_CHECK(!is_open(w, sends, peer, number), ONS_DEFECT, "rank %u opens channel %u from rank %u to rank %u twice",
              transport->rank, number, from, to);
    *result = add_channel(w, w->messages, sends, peer, number);
    return *result == NULL ? ons_status_out_of_memory() : ons_mpi_reads_open(*result);
}

static void run_ahead(ons_channel *channel) {
    const ons_mpi_world *w = channel->world;
    bool far = strcmp(w->watch.hosts[channel->peer], w->watch.hosts[w->transport.rank]) != 0;
    if (far && channel->piece_bytes > ONS_MPI_PIECE_AHEAD_BYTES) channel->piece_bytes = ONS_MPI_PIECE_AHEAD_BYTES;
}

static ons_status *open_gathers(ons_mpi_world *w) {
    w->gather_ends = calloc((size_t)w->transport.ranks * 2, sizeof *w->gather_ends);
    if (w->gather_ends == NULL) return ons_status_out_of_memory();
    for (uint32_t i = 0; i < 2 * w->transport.ranks; ++i) {
        uint32_t rank = i / 2;
        if (rank == w->transport.rank) continue;
        ons_channel *channel = add_channel(w, w->gathers, i % 2 == 1, rank, 0);
        if (channel == NULL) return ons_status_out_of_memory();
        channel->gathers = true;
        ONS_TRY(ons_mpi_reads_open(channel));
        w->gather_ends[w->gather_end_count++].channel = channel;
    }
    return NULL;
}

/* ---------------------------------------------------------------------------------------------------------- failure */

static void fail(ons_transport *transport, const ons_status *why) {
    ons_mpi_world *w = world_of(transport);
    ons_mpi_world_fail(w, ons_status_get_code(why), ons_status_get_message(why));
    pthread_mutex_lock(&w->lock);
    while (!w->stopped) pthread_cond_wait(&w->stops, &w->lock);
    pthread_mutex_unlock(&w->lock);
}

static ons_status *failure(ons_transport *transport) {
    ons_mpi_world *w = world_of(transport);
    pthread_mutex_lock(&w->lock);
    bool failed = w->failed && w->stopped;
    pthread_mutex_unlock(&w->lock);
    return failed ? ons_status_new(w->code, "%s", w->reason) : NULL;
}

static bool tells(ons_transport *transport) {
    ons_mpi_world *w = world_of(transport);
    pthread_mutex_lock(&w->lock);
    bool mine = w->failed && w->stopped && w->teller == transport->rank;
    pthread_mutex_unlock(&w->lock);
    return mine;
}

/* ---------------------------------------------------------------------------------------------------- start and end */

/* Once a process has ended, mpirun ends the others too: they wait for that, so that the one that tells the user can. */
static void wait_for_the_teller(const ons_mpi_world *w) {
    double seconds = w->watch.silence_seconds > 2 ? w->watch.silence_seconds : 2;
    const struct timespec while_it_tells = {.tv_sec = (time_t)seconds};
    nanosleep(&while_it_tells, NULL);
}

static void world_free(ons_mpi_world *w) {
    for (ons_channel *channel = w->channels, *next; channel != NULL; channel = next) {
        next = channel->next;
        pthread_cond_destroy(&channel->finished);
        free(channel);
    }
    ons_mpi_watch_free(&w->watch);
    ons_mpi_reads_free(w);
    pthread_cond_destroy(&w->wake);
    pthread_cond_destroy(&w->stops);
    pthread_mutex_destroy(&w->lock);
    free(w->gather_ends);
    free(w->part_places);
    free(w->part_sizes);
    free(w);
}

static void leave_world(ons_transport *transport) {
    ons_mpi_world *w = world_of(transport);
    pthread_mutex_lock(&w->lock);
    w->parting = true;
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
    if (!w->failed && w->finalizes) MPI_Finalize(); /* after a failure it would wait for those that are gone */
    if (w->failed && w->teller != transport->rank) wait_for_the_teller(w);
    world_free(w);
}

/* MPI, and this process's place in the world. */
static ons_status *begin_mpi(ons_mpi_world *w) {
    int running = 0, ended = 0, level = 0, rank = 0, ranks = 0;
    MPI_Initialized(&running);
    MPI_Finalized(&ended);
    ONS_CHECK(!ended, ONS_INVALID_ARGUMENT, "transport mpi: MPI runs once in a process, and has ended in this one");
    /* One thread at a time is all that we need, unless the program that we are part of uses MPI itself. */
    int needed = running ? MPI_THREAD_MULTIPLE : MPI_THREAD_SERIALIZED;
    if (!running) ons_mpi_reads_allow();
    if (running)
        MPI_Query_thread(&level);
    else
        MPI_Init_thread(NULL, NULL, needed, &level);
    w->finalizes = !running;
    ONS_CHECK(level >= needed, ONS_UNSUPPORTED, "transport mpi: this MPI was built or started without threads (%s)",
              running ? "MPI_THREAD_MULTIPLE" : "MPI_THREAD_SERIALIZED");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    uint32_t launched;
    bool known = ons_mpi_is_launched(&launched);
    ONS_CHECK(
        !known || launched <= 1 || launched == (uint32_t)ranks, ONS_INVALID_ARGUMENT,
        "transport mpi: %u processes were started, but MPI knows of %d; start them with the mpirun that belongs to "
        "it, or under Slurm with srun --mpi=pmix",
        launched, ranks);
    w->transport.rank = (uint32_t)rank;
    w->transport.ranks = (uint32_t)ranks;
    int *largest_tag, found;
    int error = MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, (void *)&largest_tag, &found);
    w->largest_tag = error == MPI_SUCCESS && found ? *largest_tag : 32767;
    if (error == MPI_SUCCESS) error = MPI_Comm_dup(MPI_COMM_WORLD, &w->messages);
    if (error == MPI_SUCCESS) error = MPI_Comm_dup(MPI_COMM_WORLD, &w->gathers);
    if (error == MPI_SUCCESS) error = MPI_Comm_set_errhandler(w->messages, MPI_ERRORS_RETURN);
    if (error == MPI_SUCCESS) error = MPI_Comm_set_errhandler(w->gathers, MPI_ERRORS_RETURN);
    ONS_CHECK(error == MPI_SUCCESS, ONS_IO_ERROR, "transport mpi: MPI could not be started (error %d)", error);
    return NULL;
}

/* The program's signals are not for this thread. */
static ons_status *start_thread(ons_mpi_world *w) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&w->thread, NULL, ons_mpi_progress, w);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error == 0 ? NULL : ons_status_system(error, "transport mpi: no thread");
}

static const ons_transport table = {
    .name = "mpi",
    .open = open_channel,
    .run_ahead = run_ahead,
    .send = send_message,
    .receive = receive_message,
    .send_parts = transfer_parts,
    .receive_parts = transfer_parts,
    .gather = gather,
    .fail = fail,
    .failure = failure,
    .tells = tells,
    .free = leave_world,
};

ons_status *ons_mpi_transport_new_in_pieces(double silence_seconds, size_t piece_bytes, ons_transport **transport) {
    ONS_CHECK(silence_seconds > 0, ONS_INVALID_ARGUMENT, "transport mpi: a rank cannot have %g seconds to answer",
              silence_seconds);
    ons_mpi_world *w = calloc(1, sizeof *w);
    if (w == NULL) return ons_status_out_of_memory();
    w->transport = table;
    w->piece_bytes = piece_bytes;
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->wake, &monotonic);
    pthread_cond_init(&w->stops, NULL);
    pthread_condattr_destroy(&monotonic);
    ons_mpi_start start;
    ons_mpi_start_begin(&start, silence_seconds);
    ons_status *status = begin_mpi(w);
    if (status == NULL) status = ons_mpi_watch_init(w, silence_seconds);
    if (status == NULL) status = ons_mpi_reads_init(w);
    if (status == NULL) status = open_gathers(w);
    ons_mpi_start_end(&start);
    if (status == NULL) status = start_thread(w);
    if (status != NULL) {
        world_free(w);
        return status;
    }
    *transport = &w->transport;
    return NULL;
}

ons_status *ons_mpi_transport_new(double silence_seconds, ons_transport **transport) {
    return ons_mpi_transport_new_in_pieces(silence_seconds, ONS_MPI_PIECE_BYTES, transport);
}

/* -------------------------------------------------------------------------------------------------------- launchers */

static uint32_t number_of(ons_variable variable) {
    const char *text = ons_environment(variable);
    unsigned long number = text == NULL ? 0 : strtoul(text, NULL, 10);
    return number <= UINT32_MAX ? (uint32_t)number : 0;
}

bool ons_mpi_is_launched(uint32_t *ranks) {
    /* A Slurm batch script has SLURM_PROCID as well; only what srun starts belongs to a numbered step. */
    bool by_srun = ons_environment(ONS_ENV_SLURM_PROCID) != NULL && ons_environment(ONS_ENV_SLURM_STEP_ID) != NULL;
    uint32_t size = number_of(ONS_ENV_OMPI_COMM_WORLD_SIZE);
    if (size == 0) size = number_of(ONS_ENV_PMI_SIZE);
    if (size == 0 && by_srun) size = number_of(ONS_ENV_SLURM_STEP_NUM_TASKS);
    if (size == 0 && by_srun) size = number_of(ONS_ENV_SLURM_NTASKS);
    *ranks = size > 0 ? size : 1;
    return size > 0 || by_srun || ons_environment(ONS_ENV_PMIX_RANK) != NULL;
}

uint32_t ons_mpi_local_rank(void) {
    static const ons_variable variables[] = {ONS_ENV_OMPI_COMM_WORLD_LOCAL_RANK, ONS_ENV_MPI_LOCALRANKID,
                                             ONS_ENV_PMI_LOCAL_RANK, ONS_ENV_SLURM_LOCALID};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; ++i)
        if (ons_environment(variables[i]) != NULL) return number_of(variables[i]);
    return 0;
}
