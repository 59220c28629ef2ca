#include "tests/fake_gpu/nccl/fake_nccl.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/transport/nccl_api.h"

enum { RANKS_MOST = 16, INTERNAL_ERROR = 3, INVALID_ARGUMENT = 4, INVALID_USAGE = 5 };

typedef struct comm comm;

/* One way between two ranks of a communicator. */
typedef struct way {
    bool connected;
    uint64_t sent, received, done; /* ends that have come on their streams; messages that are there */
    struct offer {                 /* of senders that have come, a ring: those of a group come together */
        const void *data;
        size_t bytes;
    } offers[2048];
    uint64_t puts, takes; /* calls */
    size_t asked[64];     /* bytes and types of calls that the other end has not made yet, a ring */
} way;

typedef struct group {
    struct group *next;
    uint64_t id;
    int ranks, come;
    comm *comms[RANKS_MOST];
    way ways[RANKS_MOST][RANKS_MOST];
    uint64_t rounds[RANKS_MOST];     /* meetings to which each rank has come */
    uint64_t numbers[2][RANKS_MOST]; /* what each has brought, in even and odd meetings */
} group;

struct comm {
    group *group;
    int rank, gpu, error;
    void *stream; /* of its first call; others would have no order */
    bool dead;    /* nothing ends any more */
    bool aborted;
};

/* A message's or meeting's end on a stream. Recorded ones come again and again. */
typedef struct end {
    comm *comm;
    way *way;
    void *data;
    size_t bytes;
    uint64_t number;
} end;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t come = PTHREAD_COND_INITIALIZER;
static group *groups;
static uint64_t last_id;
static fake_nccl_streams streams;
static fake_nccl_counts counts;
static char complaint[256];
static int64_t until_failure, until_connecting_fails;
static bool has_failed; /* as it was told: not all that was sent was asked for */

static void complain(const char *what, const comm *c) {
    if (complaint[0] == 0)
        snprintf(complaint, sizeof complaint, "communicator %llu, rank %d: %s",
                 (unsigned long long)(c == NULL ? 0 : c->group->id), c == NULL ? -1 : c->rank, what);
}

/* ---------------------------------------------------------------------------------------------------- communicators */

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

int ncclGetVersion(int *version) {
    *version = 22809;
    return ONS_NCCL_SUCCESS;
}

int ncclGetUniqueId(ons_nccl_id *id) {
    pthread_mutex_lock(&lock);
    uint64_t number = ++last_id;
    pthread_mutex_unlock(&lock);
    memset(id, 0x5A, sizeof *id);
    memcpy(id->bytes, &number, sizeof number);
    return ONS_NCCL_SUCCESS;
}

static group *group_of(uint64_t id, int ranks) {
    group *g = groups;
    while (g != NULL && g->id != id) g = g->next;
    if (g != NULL) return g;
    g = calloc(1, sizeof *g);
    if (g == NULL) abort();
    g->id = id;
    g->ranks = ranks;
    g->next = groups;
    return groups = g;
}

static bool is_taken(const group *g, int gpu) {
    for (int i = 0; i < g->ranks; ++i)
        if (g->comms[i] != NULL && g->comms[i]->gpu == gpu) return true;
    return false;
}

static int join_group(group *g, int rank, comm **result) {
    comm *c = calloc(1, sizeof *c);
    if (c == NULL) abort();
    *c = (comm){.group = g, .rank = rank, .gpu = streams.current_gpu()};
    if (is_taken(g, c->gpu)) {
        free(c);
        return INVALID_USAGE;
    }
    g->comms[rank] = c;
    ++g->come;
    ++counts.comms;
    ++counts.alive;
    pthread_cond_broadcast(&come);
    while (g->come < g->ranks) pthread_cond_wait(&come, &lock);
    *result = c;
    return ONS_NCCL_SUCCESS;
}

int ncclCommInitRankConfig(void **result, int ranks, ons_nccl_id id, int rank, ons_nccl_config *config) {
    uint64_t number;
    memcpy(&number, id.bytes, sizeof number);
    if (config->magic != ONS_NCCL_MAGIC || config->size != sizeof *config || ranks > RANKS_MOST)
        return INVALID_ARGUMENT;
    pthread_mutex_lock(&lock);
    bool fails = until_connecting_fails > 0 && --until_connecting_fails == 0;
    group *g = fails ? NULL : group_of(number, ranks);
    int error = INTERNAL_ERROR;
    has_failed = has_failed || fails;
    if (g != NULL && (g->ranks != ranks || rank < 0 || rank >= ranks || g->comms[rank] != NULL))
        error = INVALID_ARGUMENT;
    else if (g != NULL)
        error = join_group(g, rank, (comm **)result);
    pthread_mutex_unlock(&lock);
    return error;
}

int ncclCommAbort(void *handle) {
    comm *c = handle;
    pthread_mutex_lock(&lock);
    if (c->aborted) complain("aborted twice", c);
    c->aborted = true;
    --counts.alive;
    pthread_mutex_unlock(&lock);
    streams.wake();
    return ONS_NCCL_SUCCESS;
}

int ncclCommGetAsyncError(void *handle, int *error) {
    pthread_mutex_lock(&lock);
    const comm *c = handle;
    if (c->aborted) complain("asked for after its end", c);
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

static struct offer *offer_of(const end *e) {
    return &e->way->offers[e->number % (sizeof e->way->offers / sizeof e->way->offers[0])];
}

static void come_to_send(void *argument) {
    end *e = argument;
    e->number = ++e->way->sent;
    *offer_of(e) = (struct offer){e->data, e->bytes};
}

static void come_to_receive(void *argument) {
    end *e = argument;
    e->number = ++e->way->received;
}

static bool is_sent(void *argument) {
    const end *e = argument;
    return ends_anyway(e->comm) || (!e->comm->dead && e->way->done >= e->number);
}

static void nothing(void *argument) { (void)argument; }

static bool is_there(void *argument) {
    const end *e = argument;
    return ends_anyway(e->comm) || (!e->comm->dead && e->way->sent >= e->number);
}

static void take(void *argument) {
    end *e = argument;
    if (ends_anyway(e->comm)) return;
    const struct offer *offer = offer_of(e);
    if (offer->bytes != e->bytes)
        complain("a message has another size than is expected", e->comm);
    else if (e->bytes > 0)
        memcpy(e->data, offer->data, e->bytes);
    ++e->way->done;
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
        if (sends[i]) streams.put_when((uintptr_t)on[i], is_sent, nothing, ends[i]);
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

/* The order of calls is that of messages, whichever end is first. */
static void compare_calls(way *w, const comm *c, uint64_t *mine, uint64_t theirs, size_t asked) {
    enum { RING = sizeof w->asked / sizeof w->asked[0] };
    uint64_t number = (*mine)++;
    size_t *place = &w->asked[number % RING];
    if (number < theirs && theirs - number <= RING && *place != asked)
        complain("the ends of a message do not agree about count and type", c);
    if (number >= theirs) *place = asked;
}

static int message(end e, int peer, bool sends, int type, void *stream) {
    comm *c = e.comm;
    end *kept = malloc(sizeof *kept);
    if (kept == NULL) abort();
    pthread_mutex_lock(&lock);
    way *w = sends ? &c->group->ways[c->rank][peer] : &c->group->ways[peer][c->rank];
    if (c->aborted) complain("a message after its end", c);
    if (c->stream != NULL && c->stream != stream) complain("messages on two streams", c);
    if (streams.current_gpu() != c->gpu) complain("the thread's GPU is another one", c);
    c->stream = stream;
    if (!w->connected) ++counts.connections;
    w->connected = true;
    ++counts.messages;
    compare_calls(w, c, sends ? &w->puts : &w->takes, sends ? w->takes : w->puts, e.bytes * 16 + (size_t)type);
    if (until_failure > 0 && --until_failure == 0) {
        c->dead = has_failed = true;
        c->error = ONS_NCCL_REMOTE_ERROR;
    }
    e.way = w;
    *kept = e;
    pthread_mutex_unlock(&lock);
    return put_end(kept, sends, stream);
}

static bool is_peer(const comm *c, int peer) { return peer >= 0 && peer < c->group->ranks && peer != c->rank; }

int ncclSend(const void *data, size_t count, int type, int peer, void *handle, void *stream) {
    if (!is_peer(handle, peer) || type != ONS_NCCL_UINT8) return INVALID_ARGUMENT;
    return message((end){.comm = handle, .data = (void *)(uintptr_t)data, .bytes = count}, peer, true, type, stream);
}

int ncclRecv(void *data, size_t count, int type, int peer, void *handle, void *stream) {
    if (!is_peer(handle, peer) || type != ONS_NCCL_UINT8) return INVALID_ARGUMENT;
    return message((end){.comm = handle, .data = data, .bytes = count}, peer, false, type, stream);
}

/* --------------------------------------------------------------------------------------------------------- meetings */

static void come_to_meet(void *argument) {
    end *e = argument;
    group *g = e->comm->group;
    e->number = ++g->rounds[e->comm->rank];
    memcpy(&g->numbers[e->number % 2][e->comm->rank], e->data, sizeof g->numbers[0][0]);
}

static bool have_met(void *argument) {
    const end *e = argument;
    const group *g = e->comm->group;
    bool all = !e->comm->dead;
    for (int i = 0; i < g->ranks; ++i) all = all && g->rounds[i] >= e->number;
    return all || ends_anyway(e->comm);
}

static void take_largest(void *argument) {
    end *e = argument;
    const group *g = e->comm->group;
    uint64_t largest = 0;
    if (ends_anyway(e->comm)) return;
    for (int i = 0; i < g->ranks; ++i)
        if (g->numbers[e->number % 2][i] > largest) largest = g->numbers[e->number % 2][i];
    memcpy(e->data, &largest, sizeof largest);
}

int ncclAllReduce(const void *from, void *to, size_t count, int type, int operation, void *handle, void *stream) {
    comm *c = handle;
    end *kept = malloc(sizeof *kept);
    if (kept == NULL) abort();
    if (from != to || count != 1 || type != ONS_NCCL_UINT64 || operation != ONS_NCCL_MAX) {
        free(kept);
        return INVALID_ARGUMENT;
    }
    pthread_mutex_lock(&lock);
    if (c->aborted) complain("a meeting after its end", c);
    if (c->stream != NULL && c->stream != stream) complain("meetings on two streams", c);
    c->stream = stream;
    ++counts.meetings;
    pthread_mutex_unlock(&lock);
    *kept = (end){.comm = c, .data = to};
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

/* ------------------------------------------------------------------------------------------------------------ table */

static void use(const fake_nccl_streams *functions) { streams = *functions; }

static fake_nccl_counts get_counts(void) {
    pthread_mutex_lock(&lock);
    fake_nccl_counts result = counts;
    pthread_mutex_unlock(&lock);
    return result;
}

/* At the end each message that was sent was asked for, too. */
static void compare_ends(const group *g) {
    for (int from = 0; from < g->ranks; ++from)
        for (int to = 0; to < g->ranks; ++to)
            if (g->ways[from][to].puts != g->ways[from][to].takes)
                complain("as many messages are not sent as are received", g->comms[from]);
}

static const char *get_complaint(void) {
    pthread_mutex_lock(&lock);
    for (const group *g = groups; g != NULL && !has_failed; g = g->next) compare_ends(g);
    pthread_mutex_unlock(&lock);
    return complaint[0] == 0 ? NULL : complaint;
}

static void fail(int64_t after) { until_failure = after; }

static void let_fail(void) {
    pthread_mutex_lock(&lock);
    has_failed = true;
    pthread_mutex_unlock(&lock);
}

static void fail_connecting(int64_t after) { until_connecting_fails = after; }

const fake_nccl *fake_nccl_table(void) {
    static const fake_nccl table = {
        .use = use,
        .counts = get_counts,
        .complaint = get_complaint,
        .fail = fail,
        .let_fail = let_fail,
        .fail_connecting = fail_connecting,
    };
    return &table;
}
