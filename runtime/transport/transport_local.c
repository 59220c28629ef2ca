#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/transport/transport.h"

typedef struct world world;

/* Both ends hold the same one. A sender that comes first waits for `wanted`, a receiver that comes first for
 * `delivered`: the buffers of the second to come are never looked at by anybody but the copy. */
struct ons_channel {
    world *world;
    ons_channel *next; /* in the world's list */
    uint32_t from, to, number;
    bool opened_by_sender, opened_by_receiver; /* guarded by the world's lock */

    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool sender_left, receiver_left;
    bool wanted;  /* a receiver waits with the parts below */
    bool copying; /* the sender is writing to them: the receiver may not leave */
    const ons_message_part *parts;
    size_t count;
};

typedef struct end {
    ons_transport transport; /* first: what the caller holds */
    world *world;
} end;

struct world {
    atomic_bool failed;   /* `failure` is set, and stays */
    pthread_mutex_t lock; /* for all below; taken before a channel's, never after */
    pthread_cond_t met;
    uint32_t ranks, present; /* present: transports not yet freed */
    bool *left;              /* by rank: freed */
    uint32_t leavers, last_leaver;
    uint32_t teller; /* of the failure */
    ons_channel *channels;
    ons_status_code code;
    char *reason; /* NULL: no memory for it */

    uint64_t gathers; /* meetings at which all have arrived */
    uint32_t arrived, copied;
    const void **mine; /* by rank, while they meet */
    size_t gather_bytes;
    uint32_t gather_rank; /* who came first and set gather_bytes */
};

static bool has_failed(const world *w) { return atomic_load_explicit(&w->failed, memory_order_acquire); }

/* Called with no lock held. */
static void world_fail(world *w, ons_status_code code, const char *reason) {
    pthread_mutex_lock(&w->lock);
    if (!has_failed(w)) {
        w->code = code;
        w->reason = strdup(reason);
        while (w->teller + 1 < w->ranks && w->left[w->teller]) ++w->teller;
        atomic_store_explicit(&w->failed, true, memory_order_release);
        pthread_cond_broadcast(&w->met);
        for (ons_channel *channel = w->channels; channel != NULL; channel = channel->next) {
            /* Taking the lock makes sure that whoever saw no failure is waiting by now. */
            pthread_mutex_lock(&channel->lock);
            pthread_cond_broadcast(&channel->changed);
            pthread_mutex_unlock(&channel->lock);
        }
    }
    pthread_mutex_unlock(&w->lock);
}

static void world_fail_with(world *w, ons_status *why) {
    world_fail(w, ons_status_get_code(why), ons_status_get_message(why));
    ons_status_free(why);
}

/* --------------------------------------------------------------------------------------------------------- messages */

static size_t bytes_of(const ons_message_part *parts, size_t count) {
    size_t bytes = 0;
    for (size_t i = 0; i < count; ++i) bytes += parts[i].bytes;
    return bytes;
}

static bool are_alike(const ons_message_part *parts, const ons_message_part *others, size_t count) {
    size_t i = 0;
    while (i < count && parts[i].bytes == others[i].bytes) ++i;
    return i == count;
}

static bool send_parts(ons_channel *channel, const ons_message_part *parts, size_t count) {
    world *w = channel->world;
    if (count == 0) return !has_failed(w);
    pthread_mutex_lock(&channel->lock);
    while (!channel->wanted && !channel->receiver_left && !has_failed(w))
        pthread_cond_wait(&channel->changed, &channel->lock);
    bool wanted = channel->wanted && !has_failed(w);
    const ons_message_part *to = channel->parts;
    bool same = wanted && channel->count == count && are_alike(parts, to, count);
    size_t expected = wanted && !same ? bytes_of(to, channel->count) : 0;
    channel->copying = wanted && same;
    pthread_mutex_unlock(&channel->lock);
    if (!wanted) {
        world_fail_with(w, ons_status_new(ONS_DEFECT, "rank %u has left, and rank %u sends to it on channel %u",
                                          channel->to, channel->from, channel->number));
        return false;
    }
    if (!same) {
        world_fail_with(w,
                        ons_status_new(ONS_DEFECT, "channel %u: rank %u sends %zu bytes, but rank %u expects %zu bytes",
                                       channel->number, channel->from, bytes_of(parts, count), channel->to, expected));
        return false;
    }
    for (size_t i = 0; i < count; ++i)
        if (parts[i].bytes > 0) memcpy(to[i].data, parts[i].data, parts[i].bytes);
    pthread_mutex_lock(&channel->lock);
    channel->wanted = channel->copying = false;
    pthread_cond_signal(&channel->changed);
    pthread_mutex_unlock(&channel->lock);
    return true;
}

static bool receive_parts(ons_channel *channel, const ons_message_part *parts, size_t count) {
    world *w = channel->world;
    if (count == 0) return !has_failed(w);
    pthread_mutex_lock(&channel->lock);
    bool asked = !has_failed(w) && !channel->sender_left;
    if (asked) {
        channel->wanted = true;
        channel->parts = parts;
        channel->count = count;
        pthread_cond_signal(&channel->changed);
    }
    while (channel->wanted && (channel->copying || (!channel->sender_left && !has_failed(w))))
        pthread_cond_wait(&channel->changed, &channel->lock);
    bool delivered = asked && !channel->wanted;
    channel->wanted = false;
    pthread_mutex_unlock(&channel->lock);
    if (!delivered)
        world_fail_with(w, ons_status_new(ONS_DEFECT, "rank %u has left, and rank %u waits for it on channel %u",
                                          channel->from, channel->to, channel->number));
    return delivered;
}

static bool send_message(ons_channel *channel, const void *data, size_t bytes) {
    return send_parts(channel, &(ons_message_part){(void *)(uintptr_t)data, bytes}, 1);
}

static bool receive_message(ons_channel *channel, void *data, size_t bytes) {
    return receive_parts(channel, &(ons_message_part){data, bytes}, 1);
}

static ons_channel *find_channel(const world *w, uint32_t from, uint32_t to, uint32_t number) {
    ons_channel *channel = w->channels;
    while (channel != NULL && (channel->from != from || channel->to != to || channel->number != number))
        channel = channel->next;
    return channel;
}

static ons_channel *add_channel(world *w, uint32_t from, uint32_t to, uint32_t number) {
    ons_channel *channel = calloc(1, sizeof *channel);
    if (channel == NULL) return NULL;
    *channel = (ons_channel){.world = w, .next = w->channels, .from = from, .to = to, .number = number};
    channel->sender_left = w->left[from];
    channel->receiver_left = w->left[to];
    pthread_mutex_init(&channel->lock, NULL);
    pthread_cond_init(&channel->changed, NULL);
    return w->channels = channel;
}

static ons_status *open_channel(ons_transport *transport, uint32_t from, uint32_t to, uint32_t number,
                                ons_channel **result) {
    world *w = ((end *)transport)->world;
    ONS_CHECK(from < w->ranks && to < w->ranks && from != to && (from == transport->rank || to == transport->rank) &&
                  number <= INT32_MAX,
              ONS_DEFECT, "rank %u of %u cannot open channel %u from rank %u to rank %u", transport->rank, w->ranks,
              number, from, to);
    bool sends = from == transport->rank;
    pthread_mutex_lock(&w->lock);
    ons_channel *channel = find_channel(w, from, to, number);
    if (channel == NULL) channel = add_channel(w, from, to, number);
    bool again = channel != NULL && (sends ? channel->opened_by_sender : channel->opened_by_receiver);
    if (channel != NULL) *(sends ? &channel->opened_by_sender : &channel->opened_by_receiver) = true;
    pthread_mutex_unlock(&w->lock);
    if (channel == NULL) return ons_status_out_of_memory();
    ONS_CHECK(!again, ONS_DEFECT, "rank %u opens channel %u from rank %u to rank %u twice", transport->rank, number,
              from, to);
    *result = channel;
    return NULL;
}

static void run_ahead(ons_channel *channel) { (void)channel; }

/* ----------------------------------------------------------------------------------------------------------- gather */

/* Arrives at the meeting and waits for the others; false: it does not come about. Called with the lock held. */
static bool meet_all(world *w, uint32_t rank, const void *mine, size_t bytes, ons_status **why) {
    *why = NULL;
    if (has_failed(w)) return false;
    if (w->leavers > 0) {
        *why = ons_status_new(ONS_DEFECT, "rank %u has left, and rank %u waits for all", w->last_leaver, rank);
        return false;
    }
    if (w->arrived == 0) {
        w->gather_bytes = bytes;
        w->gather_rank = rank;
    } else if (w->gather_bytes != bytes) {
        *why = ons_status_new(ONS_DEFECT, "gather: rank %u brings %zu bytes, but rank %u brings %zu bytes",
                              w->gather_rank, w->gather_bytes, rank, bytes);
        return false;
    }
    w->mine[rank] = mine;
    uint64_t meeting = w->gathers;
    if (++w->arrived == w->ranks) {
        ++w->gathers;
        w->copied = 0;
        pthread_cond_broadcast(&w->met);
    }
    while (w->gathers == meeting && w->leavers == 0 && !has_failed(w)) pthread_cond_wait(&w->met, &w->lock);
    if (w->gathers == meeting && !has_failed(w))
        *why = ons_status_new(ONS_DEFECT, "rank %u has left, and rank %u waits for all", w->last_leaver, rank);
    return w->gathers != meeting;
}

static bool gather(ons_transport *transport, const void *mine, void *all, size_t bytes) {
    world *w = ((end *)transport)->world;
    ons_status *why;
    pthread_mutex_lock(&w->lock);
    bool met = meet_all(w, transport->rank, mine, bytes, &why);
    pthread_mutex_unlock(&w->lock);
    if (!met) {
        if (why != NULL) world_fail_with(w, why);
        return false;
    }
    for (uint32_t rank = 0; rank < w->ranks && bytes > 0; ++rank)
        memcpy((char *)all + rank * bytes, w->mine[rank], bytes);
    /* Nobody takes `mine` away before all have read it. All are here and only copy, so a failure need not interrupt. */
    pthread_mutex_lock(&w->lock);
    uint64_t meeting = w->gathers;
    if (++w->copied == w->ranks) {
        w->arrived = 0;
        pthread_cond_broadcast(&w->met);
    }
    while (w->gathers == meeting && w->copied < w->ranks) pthread_cond_wait(&w->met, &w->lock);
    pthread_mutex_unlock(&w->lock);
    return true;
}

/* ---------------------------------------------------------------------------------------------------------- failure */

static void fail(ons_transport *transport, const ons_status *why) {
    world_fail(((end *)transport)->world, ons_status_get_code(why), ons_status_get_message(why));
}

static ons_status *failure(ons_transport *transport) {
    world *w = ((end *)transport)->world;
    if (!has_failed(w)) return NULL;
    return w->reason == NULL ? ons_status_out_of_memory() : ons_status_new(w->code, "%s", w->reason);
}

static bool tells(ons_transport *transport) {
    world *w = ((end *)transport)->world;
    return has_failed(w) && w->teller == transport->rank;
}

/* -------------------------------------------------------------------------------------------------------- the world */

static void world_free(world *w) {
    if (w == NULL) return;
    for (ons_channel *channel = w->channels, *next; channel != NULL; channel = next) {
        next = channel->next;
        pthread_mutex_destroy(&channel->lock);
        pthread_cond_destroy(&channel->changed);
        free(channel);
    }
    pthread_mutex_destroy(&w->lock);
    pthread_cond_destroy(&w->met);
    free(w->mine);
    free(w->left);
    free(w->reason);
    free(w);
}

/* Whoever waits for this rank learns that it will not come. */
static void leave_world(ons_transport *transport) {
    end *e = (end *)transport;
    world *w = e->world;
    pthread_mutex_lock(&w->lock);
    w->left[transport->rank] = true;
    ++w->leavers;
    w->last_leaver = transport->rank;
    pthread_cond_broadcast(&w->met);
    for (ons_channel *channel = w->channels; channel != NULL; channel = channel->next) {
        pthread_mutex_lock(&channel->lock);
        channel->sender_left |= channel->from == transport->rank;
        channel->receiver_left |= channel->to == transport->rank;
        pthread_cond_broadcast(&channel->changed);
        pthread_mutex_unlock(&channel->lock);
    }
    bool last = --w->present == 0;
    pthread_mutex_unlock(&w->lock);
    free(e);
    if (last) world_free(w);
}

static const ons_transport table = {
    .name = "local",
    .shares_memory = true,
    .open = open_channel,
    .run_ahead = run_ahead,
    .send = send_message,
    .receive = receive_message,
    .send_parts = send_parts,
    .receive_parts = receive_parts,
    .gather = gather,
    .fail = fail,
    .failure = failure,
    .tells = tells,
    .free = leave_world,
};

ons_status *ons_local_transports_new(uint32_t ranks, ons_transport **transports) {
    ONS_CHECK(ranks > 0, ONS_DEFECT, "a world of no ranks");
    world *w = calloc(1, sizeof *w);
    if (w == NULL) return ons_status_out_of_memory();
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->met, NULL);
    w->ranks = w->present = ranks;
    w->mine = calloc(ranks, sizeof *w->mine);
    w->left = calloc(ranks, sizeof *w->left);
    uint32_t made = 0;
    for (; w->mine != NULL && w->left != NULL && made < ranks; ++made) {
        end *e = calloc(1, sizeof *e);
        if (e == NULL) break;
        *e = (end){.transport = table, .world = w};
        e->transport.rank = made;
        e->transport.ranks = e->transport.host_ranks = ranks;
        transports[made] = &e->transport;
    }
    if (made == ranks) return NULL;
    while (made > 0) free(transports[--made]);
    world_free(w);
    return ons_status_out_of_memory();
}
