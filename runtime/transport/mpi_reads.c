/* Messages between processes of one host that may read each other's memory: the sender says where a message lies, the
 * receiver copies it from there, once, and says so. Both say it in a page that they share. The sum of replicas is most
 * of what goes this way: by MPI it would be copied twice, in small pieces, by threads that others compute beside.
 *
 * Each rank has a file without a name, which ends with the last process that has it open, however that ends. In it lies
 * a slot for each channel on which the rank sends. That the others may read the file and the memory of the process is
 * tried once, at the start; who may not, and everybody on another host, goes by MPI. A message that cannot be read
 * after all (memory of a kind that the system does not hand out, a process that is gone) goes by MPI as well, with all
 * that follow on its channel: there it ends as every other does.
 */
#include <fcntl.h>
#include <linux/futex.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/environment.h"
#include "runtime/transport/mpi_world.h"

enum { SLOTS = 1 << 16, PARTS_AT_ONCE = 64 };

static const long look_nanoseconds = 50000000; /* how long a waiting thread sleeps before it looks for a failure */

/* Of the file of the rank that sends. */
struct ons_mpi_slot {
    alignas(64) uint32_t to, number;
    _Atomic uint32_t posted, taken; /* messages so far; written by the sender, by the receiver */
    _Atomic uint32_t is_refused;    /* the last message taken could not be read */
    uint64_t place;                 /* in the sender's memory: of a message of one part, or of the list of them */
    uint64_t parts;
    uint64_t bytes;
};

struct ons_mpi_slots {
    uint64_t token; /* no other process's file has the same */
    _Atomic uint32_t count;
    ons_mpi_slot slots[SLOTS]; /* pages of those that nobody opens are never taken */
};

/* ---------------------------------------------------------------------------------------------------------- waiting */

static void wake(_Atomic uint32_t *word) { syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0); }

/* False: the world has failed, and will not touch anything any more. */
static bool is_well(ons_channel *channel, bool waits) {
    ons_mpi_world *w = channel->world;
    pthread_mutex_lock(&w->lock);
    while (w->failed && !w->stopped) pthread_cond_wait(&w->stops, &w->lock);
    bool well = !w->failed;
    channel->waits = waits && well;
    pthread_mutex_unlock(&w->lock);
    return well;
}

/* Waits until the other process has changed a word. */
static bool await_change(ons_channel *channel, _Atomic uint32_t *word, uint32_t seen) {
    const struct timespec look = {.tv_nsec = look_nanoseconds};
    if (atomic_load(word) != seen) return true;
    while (atomic_load(word) == seen) {
        if (!is_well(channel, true)) return false;
        syscall(SYS_futex, word, FUTEX_WAIT, seen, &look, NULL, 0);
    }
    return is_well(channel, false);
}

/* ---------------------------------------------------------------------------------------------------------- reading */

/* As many bytes from elsewhere in `from` as there is room for in `to`; both are used up. */
static bool read_memory(pid_t process, struct iovec *to, struct iovec *from, size_t count) {
    for (size_t at = 0; at < count;) {
        ssize_t got = 0;
        if (to[at].iov_len > 0) got = process_vm_readv(process, to + at, count - at, from + at, count - at, 0);
        if (to[at].iov_len > 0 && got <= 0) return false;
        while (at < count && (size_t)got >= to[at].iov_len) got -= (ssize_t)to[at++].iov_len;
        if (got == 0) continue;
        to[at] = (struct iovec){(char *)to[at].iov_base + got, to[at].iov_len - (size_t)got};
        from[at] = (struct iovec){(char *)from[at].iov_base + got, from[at].iov_len - (size_t)got};
    }
    return true;
}

static bool read_bytes(pid_t process, void *to, uint64_t from, size_t bytes) {
    return read_memory(process, &(struct iovec){to, bytes}, &(struct iovec){(void *)(uintptr_t)from, bytes}, 1);
}

static bool read_parts(pid_t process, const ons_message_part *parts, uint64_t list, size_t count) {
    struct iovec to[PARTS_AT_ONCE], from[PARTS_AT_ONCE];
    ons_message_part theirs[PARTS_AT_ONCE];
    for (size_t first = 0, some; first < count; first += some) {
        some = count - first < PARTS_AT_ONCE ? count - first : PARTS_AT_ONCE;
        if (!read_bytes(process, theirs, list + first * sizeof *theirs, some * sizeof *theirs)) return false;
        for (size_t i = 0; i < some; ++i) {
            if (theirs[i].bytes != parts[first + i].bytes) return false;
            to[i] = (struct iovec){parts[first + i].data, theirs[i].bytes};
            from[i] = (struct iovec){theirs[i].data, theirs[i].bytes};
        }
        if (!read_memory(process, to, from, some)) return false;
    }
    return true;
}

static bool read_message(const ons_channel *channel, const ons_message_part *parts, size_t count) {
    pid_t process = channel->world->reads.processes[channel->peer];
    const ons_mpi_slot *slot = channel->slot;
    if (slot->parts != count) return false;
    return count == 1 ? read_bytes(process, parts->data, slot->place, parts->bytes)
                      : read_parts(process, parts, slot->place, count);
}

/* --------------------------------------------------------------------------------------------------------- messages */

static size_t bytes_of(const ons_message_part *parts, size_t count) {
    size_t bytes = 0;
    for (size_t i = 0; i < count; ++i) bytes += parts[i].bytes;
    return bytes;
}

static uint32_t number_of(const ons_channel *channel) { return channel->gathers ? UINT32_MAX : channel->number; }

ons_status *ons_mpi_reads_open(ons_channel *channel) {
    ons_mpi_world *w = channel->world;
    ons_mpi_slots *own = w->reads.own;
    if (w->reads.of[channel->peer] == NULL) return NULL;
    channel->reads = true;
    if (!channel->sends) return NULL;
    pthread_mutex_lock(&w->lock);
    uint32_t count = atomic_load(&own->count);
    if (count < SLOTS) {
        channel->slot = &own->slots[count];
        channel->slot->to = channel->peer;
        channel->slot->number = number_of(channel);
        atomic_store(&own->count, count + 1);
    }
    pthread_mutex_unlock(&w->lock);
    ONS_CHECK(channel->slot != NULL, ONS_UNSUPPORTED, "rank %u opens more than %d channels to ranks of its host",
              w->transport.rank, SLOTS);
    wake(&own->count);
    return NULL;
}

/* The sender opens the channel at any time. */
static bool find_slot(ons_channel *channel) {
    ons_mpi_slots *theirs = channel->world->reads.of[channel->peer];
    for (uint32_t looked = 0, i = 0; channel->slot == NULL; looked = i) {
        if (!await_change(channel, &theirs->count, looked)) return false;
        for (uint32_t count = atomic_load(&theirs->count); i < count && channel->slot == NULL; ++i)
            if (theirs->slots[i].to == channel->world->transport.rank && theirs->slots[i].number == number_of(channel))
                channel->slot = &theirs->slots[i];
    }
    return true;
}

void ons_mpi_reads_post(ons_channel *channel, const ons_message_part *parts, size_t count) {
    ons_mpi_slot *slot = channel->slot;
    if (!channel->reads || !channel->sends || count == 0) return;
    slot->place = (uint64_t)(uintptr_t)(count == 1 ? parts->data : parts);
    slot->parts = count;
    slot->bytes = bytes_of(parts, count);
    atomic_store(&slot->posted, ++channel->messages);
    wake(&slot->posted);
}

static ons_mpi_read send_parts(ons_channel *channel) {
    if (!await_change(channel, &channel->slot->taken, channel->messages - 1)) return ONS_MPI_READ_FAILED;
    return atomic_load(&channel->slot->is_refused) ? ONS_MPI_READ_REFUSED : ONS_MPI_READ_DONE;
}

static ons_mpi_read receive_parts(ons_channel *channel, const ons_message_part *parts, size_t count) {
    if (!find_slot(channel)) return ONS_MPI_READ_FAILED;
    ons_mpi_slot *slot = channel->slot;
    if (!await_change(channel, &slot->posted, channel->messages++)) return ONS_MPI_READ_FAILED;
    if (slot->bytes != bytes_of(parts, count)) {
        ons_mpi_world_fail_size(channel, "", slot->bytes, bytes_of(parts, count));
        is_well(channel, false); /* waits until nothing is under way */
        return ONS_MPI_READ_FAILED;
    }
    bool good = read_message(channel, parts, count);
    atomic_store(&slot->is_refused, !good);
    atomic_store(&slot->taken, channel->messages);
    wake(&slot->taken);
    return good ? ONS_MPI_READ_DONE : ONS_MPI_READ_REFUSED;
}

ons_mpi_read ons_mpi_reads_finish(ons_channel *channel, const ons_message_part *parts, size_t count) {
    if (!channel->reads || count == 0) return ONS_MPI_READ_REFUSED;
    if (!is_well(channel, false)) return ONS_MPI_READ_FAILED;
    ons_mpi_read result = channel->sends ? send_parts(channel) : receive_parts(channel, parts, count);
    channel->reads = result != ONS_MPI_READ_REFUSED;
    return result;
}

/* ------------------------------------------------------------------------------------------------------------ start */

/* What the others need to read this rank. */
typedef struct invitation {
    uint64_t token;
    uint64_t place; /* of `token`, in the process */
    int64_t process;
    int32_t file; /* -1: it is not to be read */
} invitation;

static ons_mpi_slots *map(int file) {
    void *result = mmap(NULL, sizeof(ons_mpi_slots), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    return result == MAP_FAILED ? NULL : result;
}

static void unmap(ons_mpi_slots *slots) {
    if (slots != NULL) munmap(slots, sizeof *slots);
}

/* Where a process may be read by its ancestors alone, this one may be by what else its launcher has started. */
void ons_mpi_reads_allow(void) {
    if (!ons_environment_is_off(ONS_ENV_ONSTAGE_MPI_READS)) prctl(PR_SET_PTRACER, (unsigned long)getppid(), 0, 0, 0);
}

static void invite(ons_mpi_world *w, invitation *mine) {
    *mine = (invitation){.file = -1, .process = getpid()};
    if (ons_environment_is_off(ONS_ENV_ONSTAGE_MPI_READS)) return;
    int file = memfd_create("onstage", MFD_CLOEXEC);
    if (file < 0) return;
    if (ftruncate(file, sizeof *w->reads.own) == 0) w->reads.own = map(file);
    if (w->reads.own == NULL || getrandom(&w->reads.own->token, sizeof mine->token, 0) != sizeof mine->token) {
        close(file);
        return;
    }
    mine->token = w->reads.own->token;
    mine->place = (uint64_t)(uintptr_t)&w->reads.own->token;
    mine->file = file;
}

/* Process numbers mean something else in another container: the file is opened only if the process is the rank that
 * wrote. */
static ons_mpi_slots *accept(const invitation *theirs) {
    char path[64];
    uint64_t token = 0;
    if (!read_bytes((pid_t)theirs->process, &token, theirs->place, sizeof token) || token != theirs->token) return NULL;
    snprintf(path, sizeof path, "/proc/%lld/fd/%d", (long long)theirs->process, theirs->file);
    int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0) return NULL;
    ons_mpi_slots *slots = map(file);
    close(file);
    return slots;
}

/* Both ends of a channel must know how it goes, so each can read the other, or neither does. */
static ons_status *agree(ons_mpi_world *w, const invitation *all) {
    uint32_t ranks = w->transport.ranks, own = w->transport.rank;
    char *mine = calloc(ranks, 1), *theirs = calloc(ranks, 1);
    for (uint32_t rank = 0; mine != NULL && rank < ranks; ++rank) {
        w->reads.processes[rank] = (pid_t)all[rank].process;
        bool near = rank != own && strcmp(w->watch.hosts[rank], w->watch.hosts[own]) == 0;
        if (near && all[own].file >= 0 && all[rank].file >= 0) w->reads.of[rank] = accept(&all[rank]);
        mine[rank] = w->reads.of[rank] != NULL;
    }
    int error = mine == NULL || theirs == NULL ? MPI_ERR_NO_MEM
                                               : MPI_Alltoall(mine, 1, MPI_CHAR, theirs, 1, MPI_CHAR, w->gathers);
    for (uint32_t rank = 0; error == MPI_SUCCESS && rank < ranks; ++rank) {
        if (theirs[rank]) continue;
        unmap(w->reads.of[rank]);
        w->reads.of[rank] = NULL;
    }
    free(mine);
    free(theirs);
    ONS_CHECK(error == MPI_SUCCESS, ONS_IO_ERROR, "transport mpi: MPI could not be started (error %d)", error);
    return NULL;
}

static ons_status *check_wish(const ons_mpi_world *w) {
    const char *wish = ons_environment(ONS_ENV_ONSTAGE_MPI_READS);
    char(*hosts)[sizeof *w->watch.hosts] = w->watch.hosts;
    if (wish == NULL || strcmp(wish, "on") != 0) return NULL;
    for (uint32_t rank = 0, own = w->transport.rank; rank < w->transport.ranks; ++rank)
        ONS_CHECK(rank == own || strcmp(hosts[rank], hosts[own]) != 0 || w->reads.of[rank] != NULL, ONS_UNSUPPORTED,
                  "ONSTAGE_MPI_READS=on, but ranks %u and %u on host %s may not read each other's memory; run them as "
                  "one user, in one container, which has the right SYS_PTRACE where that is needed",
                  own, rank, hosts[own]);
    return NULL;
}

ons_status *ons_mpi_reads_init(ons_mpi_world *w) {
    uint32_t ranks = w->transport.ranks;
    invitation mine, *all = calloc(ranks, sizeof *all);
    w->reads.of = calloc(ranks, sizeof *w->reads.of);
    w->reads.processes = calloc(ranks, sizeof *w->reads.processes);
    ons_status *status = NULL;
    if (all == NULL || w->reads.of == NULL || w->reads.processes == NULL) status = ons_status_out_of_memory();
    if (status == NULL) {
        invite(w, &mine);
        int error = MPI_Allgather(&mine, sizeof mine, MPI_BYTE, all, sizeof mine, MPI_BYTE, w->gathers);
        status = error == MPI_SUCCESS
                     ? agree(w, all)
                     : ons_status_new(ONS_IO_ERROR, "transport mpi: MPI could not be started (error %d)", error);
        if (mine.file >= 0) close(mine.file); /* who wants it has it */
    }
    free(all);
    return status == NULL ? check_wish(w) : status;
}

void ons_mpi_reads_free(ons_mpi_world *w) {
    for (uint32_t rank = 0; w->reads.of != NULL && rank < w->transport.ranks; ++rank) unmap(w->reads.of[rank]);
    unmap(w->reads.own);
    free(w->reads.of);
    free(w->reads.processes);
}
