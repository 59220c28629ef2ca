/* NCCL's functions between processes of one machine, for ranks with GPUs of tests/fake_gpu/discrete_memory: messages
 * are files in the folder $FAKE_NCCL_FOLDER. As strict as fake_nccl.c: neither end of a message goes on before both
 * have come, sizes are compared, and a GPU has one rank of a communicator.
 *
 * What was wrong in how the functions were called stands in FOLDER/complaints, what a process has done in
 * FOLDER/counts, a line each. Messages that nobody took are left as files message.* there.
 * $FAKE_NCCL_FAIL=N: from this process's N-th message on nothing of its communicator ends, which reports an error.
 * $FAKE_NCCL_FAIL_CONNECTING=N: its N-th communicator cannot be made. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/transport/nccl_api.h"
#include "tests/fake_gpu/nccl/fake_nccl.h"

enum {
    RANKS_MOST = 16,
    PATH_BYTES = 512,
    INTERNAL_ERROR = 3,
    INVALID_ARGUMENT = 4,
    INVALID_USAGE = 5,
    LOOK_MICROSECONDS = 1000
};

typedef struct comm {
    uint64_t id;
    int rank, ranks, gpu, error;
    void *stream;                                 /* of its first call; others would have no order */
    uint64_t sent[RANKS_MOST], taken[RANKS_MOST]; /* messages to and from each rank that have come on the stream */
    uint64_t meetings;
    bool dead, aborted;
} comm;

/* A message's or meeting's end on a stream. Recorded ones come again and again. */
typedef struct end {
    comm *comm;
    void *data;
    size_t bytes;
    int peer;
    uint64_t number;
} end;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static fake_nccl_streams streams;
static const char *folder = "/tmp";
static uint64_t last_id;
static fake_nccl_counts counts;
static int64_t until_failure, until_connecting_fails;

void fake_nccl_use(const fake_nccl_streams *functions);
int ncclGetVersion(int *version);
int ncclGetUniqueId(ons_nccl_id *id);
int ncclCommInitRankConfig(void **result, int ranks, ons_nccl_id id, int rank, ons_nccl_config *config);
int ncclCommAbort(void *handle);
int ncclCommGetAsyncError(void *handle, int *error);
const char *ncclGetErrorString(int result);
const char *ncclGetLastError(void *handle);
int ncclSend(const void *data, size_t count, int type, int peer, void *handle, void *stream);
int ncclRecv(void *data, size_t count, int type, int peer, void *handle, void *stream);
int ncclAllReduce(const void *from, void *to, size_t count, int type, int operation, void *handle, void *stream);
int ncclGroupStart(void);
int ncclGroupEnd(void);

/* ------------------------------------------------------------------------------------------------------------ files */

static void add_line(const char *file, const char *text) {
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", folder, file);
    FILE *out = fopen(path, "a");
    if (out == NULL) abort();
    fprintf(out, "%s\n", text);
    fclose(out);
}

static void complain(const comm *c, const char *what) {
    char text[PATH_BYTES];
    snprintf(text, sizeof text, "communicator %llx, rank %d: %s", (unsigned long long)c->id, c->rank, what);
    add_line("complaints", text);
}

/* A file is there as a whole or not at all. */
static void write_file(const char *path, const void *data, size_t bytes) {
    char draft[PATH_BYTES + 8];
    snprintf(draft, sizeof draft, "%s.new", path);
    FILE *out = fopen(draft, "w");
    if (out == NULL || (bytes > 0 && fwrite(data, 1, bytes, out) != bytes) || fclose(out) != 0) abort();
    if (rename(draft, path) != 0) abort();
}

/* Bytes of the file, of which at most `capacity` are read; -1: there is none. */
static long read_file(const char *path, void *data, size_t capacity) {
    FILE *in = fopen(path, "r");
    if (in == NULL) return -1;
    size_t bytes = fread(data, 1, capacity, in);
    long more = fgetc(in) == EOF ? 0 : 1;
    fclose(in);
    return (long)bytes + more;
}

static bool exists(const char *path) { return access(path, F_OK) == 0; }

static void name_message(const char *kind, const comm *c, int from, int to, uint64_t number, char path[PATH_BYTES]) {
    snprintf(path, PATH_BYTES, "%s/%s.%llx.%d.%d.%llu", folder, kind, (unsigned long long)c->id, from, to,
             (unsigned long long)number);
}

static void name_share(const comm *c, int rank, uint64_t number, char path[PATH_BYTES]) {
    snprintf(path, PATH_BYTES, "%s/meeting.%llx.%d.%llu", folder, (unsigned long long)c->id, rank,
             (unsigned long long)number);
}

/* ---------------------------------------------------------------------------------------------------- communicators */

/* Other processes wake nobody here. */
static void *look_again(void *argument) {
    for (;;) {
        usleep(LOOK_MICROSECONDS);
        streams.wake();
    }
    return argument;
}

static int64_t number_of(const char *variable) {
    const char *text = getenv(variable);
    return text == NULL ? 0 : strtoll(text, NULL, 10);
}

void fake_nccl_use(const fake_nccl_streams *functions) {
    pthread_t thread;
    streams = *functions;
    folder = getenv("FAKE_NCCL_FOLDER");
    until_failure = number_of("FAKE_NCCL_FAIL");
    until_connecting_fails = number_of("FAKE_NCCL_FAIL_CONNECTING");
    if (folder == NULL || pthread_create(&thread, NULL, look_again, NULL) != 0) abort();
    pthread_detach(thread);
}

__attribute__((destructor)) static void tell_counts(void) {
    char text[PATH_BYTES];
    snprintf(text, sizeof text, "communicators %lld alive %lld messages %lld meetings %lld", (long long)counts.comms,
             (long long)counts.alive, (long long)counts.messages, (long long)counts.meetings);
    if (counts.comms > 0) add_line("counts", text);
}

int ncclGetVersion(int *version) {
    *version = 22809;
    return ONS_NCCL_SUCCESS;
}

int ncclGetUniqueId(ons_nccl_id *id) {
    uint64_t number = ((uint64_t)getpid() << 20) + ++last_id;
    memset(id, 0x5A, sizeof *id);
    memcpy(id->bytes, &number, sizeof number);
    return ONS_NCCL_SUCCESS;
}

/* Waits until all ranks are there, each with a GPU of its own. */
static int meet_ranks(const comm *c) {
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/rank.%llx.%d", folder, (unsigned long long)c->id, c->rank);
    if (exists(path)) return INVALID_ARGUMENT;
    write_file(path, &c->gpu, sizeof c->gpu);
    for (int other = 0; other < c->ranks; ++other) {
        int gpu;
        snprintf(path, sizeof path, "%s/rank.%llx.%d", folder, (unsigned long long)c->id, other);
        while (read_file(path, &gpu, sizeof gpu) != sizeof gpu) usleep(LOOK_MICROSECONDS);
        if (other != c->rank && gpu == c->gpu) return INVALID_USAGE;
    }
    return ONS_NCCL_SUCCESS;
}

int ncclCommInitRankConfig(void **result, int ranks, ons_nccl_id id, int rank, ons_nccl_config *config) {
    if (config->magic != ONS_NCCL_MAGIC || config->size != sizeof *config || ranks > RANKS_MOST || rank >= ranks)
        return INVALID_ARGUMENT;
    if (until_connecting_fails > 0 && --until_connecting_fails == 0) return INTERNAL_ERROR;
    comm *c = calloc(1, sizeof *c);
    if (c == NULL) abort();
    *c = (comm){.rank = rank, .ranks = ranks, .gpu = streams.current_gpu()};
    memcpy(&c->id, id.bytes, sizeof c->id);
    int error = meet_ranks(c);
    if (error != ONS_NCCL_SUCCESS) {
        free(c);
        return error;
    }
    pthread_mutex_lock(&lock);
    ++counts.comms;
    ++counts.alive;
    pthread_mutex_unlock(&lock);
    *result = c;
    return ONS_NCCL_SUCCESS;
}

int ncclCommAbort(void *handle) {
    comm *c = handle;
    pthread_mutex_lock(&lock);
    if (c->aborted) complain(c, "aborted twice");
    c->aborted = true;
    --counts.alive;
    pthread_mutex_unlock(&lock);
    streams.wake();
    return ONS_NCCL_SUCCESS;
}

int ncclCommGetAsyncError(void *handle, int *error) {
    pthread_mutex_lock(&lock);
    const comm *c = handle;
    if (c->aborted) complain(c, "asked for after its end");
    *error = c->error;
    pthread_mutex_unlock(&lock);
    return ONS_NCCL_SUCCESS;
}

const char *ncclGetErrorString(int result) {
    return result == ONS_NCCL_REMOTE_ERROR ? "remote process exited or there was a network error" : "invalid usage";
}

const char *ncclGetLastError(void *handle) {
    (void)handle;
    return "";
}

/* --------------------------------------------------------------------------------------------------------- messages */

static bool ends_anyway(const comm *c) { return __atomic_load_n(&c->aborted, __ATOMIC_ACQUIRE); }

static bool comes(void *argument) {
    const end *e = argument;
    return !e->comm->dead || ends_anyway(e->comm);
}

static void come_to_send(void *argument) {
    char path[PATH_BYTES];
    end *e = argument;
    e->number = ++e->comm->sent[e->peer];
    name_message("message", e->comm, e->comm->rank, e->peer, e->number, path);
    if (!ends_anyway(e->comm)) write_file(path, e->data, e->bytes);
}

static void come_to_receive(void *argument) {
    end *e = argument;
    e->number = ++e->comm->taken[e->peer];
}

static bool is_sent(void *argument) {
    char path[PATH_BYTES];
    const end *e = argument;
    name_message("taken", e->comm, e->comm->rank, e->peer, e->number, path);
    return ends_anyway(e->comm) || (!e->comm->dead && exists(path));
}

static void forget(void *argument) {
    char path[PATH_BYTES];
    const end *e = argument;
    name_message("taken", e->comm, e->comm->rank, e->peer, e->number, path);
    unlink(path);
}

static bool is_there(void *argument) {
    char path[PATH_BYTES];
    const end *e = argument;
    name_message("message", e->comm, e->peer, e->comm->rank, e->number, path);
    return ends_anyway(e->comm) || (!e->comm->dead && exists(path));
}

static void take(void *argument) {
    char path[PATH_BYTES];
    const end *e = argument;
    if (ends_anyway(e->comm)) return;
    name_message("message", e->comm, e->peer, e->comm->rank, e->number, path);
    if (read_file(path, e->data, e->bytes) != (long)e->bytes) complain(e->comm, "a message has another size");
    unlink(path);
    name_message("taken", e->comm, e->peer, e->comm->rank, e->number, path);
    write_file(path, NULL, 0);
}

/* Of the calls between a group's start and its end: put on the stream at the end, where all of them come before any of
 * them waits for another rank, and none waits for what this rank has yet to take. */
enum { TOGETHER_MOST = 2048 };
typedef struct together {
    int depth, count;
    bool sends[TOGETHER_MOST];
    end *ends[TOGETHER_MOST];
    void *streams[TOGETHER_MOST];
} together;
static _Thread_local together *calls;

static void put_ends(int count, end *const *ends, const bool *sends, void *const *on) {
    for (int i = 0; i < count; ++i)
        streams.put_when((uintptr_t)on[i], comes, sends[i] ? come_to_send : come_to_receive, ends[i]);
    for (int i = 0; i < count; ++i)
        if (!sends[i]) streams.put_when((uintptr_t)on[i], is_there, take, ends[i]);
    for (int i = 0; i < count; ++i)
        if (sends[i]) streams.put_when((uintptr_t)on[i], is_sent, forget, ends[i]);
}

static int put_end(end *e, bool sends, void *stream) {
    if (calls == NULL || calls->depth == 0) {
        put_ends(1, &e, &sends, &stream);
        return ONS_NCCL_SUCCESS;
    }
    if (calls->count == TOGETHER_MOST) {
        free(e);
        return INVALID_USAGE;
    }
    calls->ends[calls->count] = e;
    calls->sends[calls->count] = sends;
    calls->streams[calls->count++] = stream;
    return ONS_NCCL_SUCCESS;
}

static int message(end e, bool sends, void *stream) {
    comm *c = e.comm;
    end *kept = malloc(sizeof *kept);
    if (kept == NULL) abort();
    *kept = e;
    pthread_mutex_lock(&lock);
    if (c->aborted) complain(c, "a message after its end");
    if (c->stream != NULL && c->stream != stream) complain(c, "messages on two streams");
    if (streams.current_gpu() != c->gpu) complain(c, "the thread's GPU is another one");
    c->stream = stream;
    ++counts.messages;
    if (until_failure > 0 && --until_failure == 0) {
        c->dead = true;
        c->error = ONS_NCCL_REMOTE_ERROR;
    }
    pthread_mutex_unlock(&lock);
    return put_end(kept, sends, stream);
}

static bool is_message(const comm *c, int peer, int type) {
    return peer >= 0 && peer < c->ranks && peer != c->rank && type == ONS_NCCL_UINT8;
}

int ncclSend(const void *data, size_t count, int type, int peer, void *handle, void *stream) {
    if (!is_message(handle, peer, type)) return INVALID_ARGUMENT;
    return message((end){.comm = handle, .data = (void *)(uintptr_t)data, .bytes = count, .peer = peer}, true, stream);
}

int ncclRecv(void *data, size_t count, int type, int peer, void *handle, void *stream) {
    if (!is_message(handle, peer, type)) return INVALID_ARGUMENT;
    return message((end){.comm = handle, .data = data, .bytes = count, .peer = peer}, false, stream);
}

/* --------------------------------------------------------------------------------------------------------- meetings */

static void come_to_meet(void *argument) {
    char path[PATH_BYTES];
    end *e = argument;
    e->number = ++e->comm->meetings;
    name_share(e->comm, e->comm->rank, e->number, path);
    if (!ends_anyway(e->comm)) write_file(path, e->data, e->bytes);
}

static bool have_met(void *argument) {
    char path[PATH_BYTES];
    const end *e = argument;
    bool all = !e->comm->dead;
    for (int i = 0; all && i < e->comm->ranks; ++i) {
        name_share(e->comm, i, e->number, path);
        all = exists(path);
    }
    return all || ends_anyway(e->comm);
}

static void take_largest(void *argument) {
    char path[PATH_BYTES];
    const end *e = argument;
    uint64_t largest = 0, one = 0;
    if (ends_anyway(e->comm)) return;
    for (int i = 0; i < e->comm->ranks; ++i) {
        name_share(e->comm, i, e->number, path);
        if (read_file(path, &one, sizeof one) != sizeof one) complain(e->comm, "a number has another size");
        largest = one > largest ? one : largest;
    }
    memcpy(e->data, &largest, sizeof largest);
}

int ncclAllReduce(const void *from, void *to, size_t count, int type, int operation, void *handle, void *stream) {
    comm *c = handle;
    if (from != to || count != 1 || type != ONS_NCCL_UINT64 || operation != ONS_NCCL_MAX) return INVALID_ARGUMENT;
    end *kept = malloc(sizeof *kept);
    if (kept == NULL) abort();
    *kept = (end){.comm = c, .data = to, .bytes = sizeof(uint64_t)};
    pthread_mutex_lock(&lock);
    if (c->aborted) complain(c, "a meeting after its end");
    if (c->stream != NULL && c->stream != stream) complain(c, "meetings on two streams");
    c->stream = stream;
    ++counts.meetings;
    pthread_mutex_unlock(&lock);
    streams.put_when((uintptr_t)stream, comes, come_to_meet, kept);
    streams.put_when((uintptr_t)stream, have_met, take_largest, kept);
    return ONS_NCCL_SUCCESS;
}

int ncclGroupStart(void) {
    if (calls == NULL && (calls = calloc(1, sizeof *calls)) == NULL) abort();
    ++calls->depth;
    return ONS_NCCL_SUCCESS;
}

int ncclGroupEnd(void) {
    if (calls == NULL || calls->depth == 0) return INVALID_USAGE;
    if (--calls->depth > 0) return ONS_NCCL_SUCCESS;
    put_ends(calls->count, calls->ends, calls->sends, calls->streams);
    free(calls);
    calls = NULL;
    return ONS_NCCL_SUCCESS;
}
