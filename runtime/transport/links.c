#include "runtime/transport/links.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

/* A message on its way. */
typedef struct message {
    const void *address;
    size_t bytes;
    ons_event *ready, *gone; /* the sender's, recorded on its stream; on the receiver's stream */
} message;

struct ons_link {
    ons_links *links;
    ons_link *next;
    uint32_t from, to, number;
    ons_device *device; /* the sender's: whose events they are */
    message *messages;  /* a ring */
    uint32_t at_once;
    uint64_t offered, taken;
};

struct ons_links {
    pthread_mutex_t lock; /* for all that lies here and in links */
    pthread_cond_t changed;
    uint64_t news;
    ons_link *first;
};

ons_status *ons_links_new(ons_links **result) {
    ons_links *l = calloc(1, sizeof *l);
    if (l == NULL) return ons_status_out_of_memory();
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->changed, NULL);
    *result = l;
    return NULL;
}

void ons_links_free(ons_links *l) {
    if (l == NULL) return;
    for (ons_link *link = l->first, *next; link != NULL; link = next) {
        next = link->next;
        free(link);
    }
    pthread_mutex_destroy(&l->lock);
    pthread_cond_destroy(&l->changed);
    free(l);
}

/* With the lock held. */
static void announce_news(ons_links *l) {
    ++l->news;
    pthread_cond_broadcast(&l->changed);
}

static ons_link *find_or_add(ons_links *l, uint32_t from, uint32_t to, uint32_t number) {
    ons_link *link = l->first;
    while (link != NULL && (link->from != from || link->to != to || link->number != number)) link = link->next;
    if (link != NULL || (link = calloc(1, sizeof *link)) == NULL) return link;
    *link = (ons_link){.links = l, .next = l->first, .from = from, .to = to, .number = number};
    return l->first = link;
}

static ons_status *make_messages(ons_link *link, ons_device *device, uint32_t at_once) {
    link->device = device;
    link->messages = calloc(at_once, sizeof *link->messages);
    if (link->messages == NULL) return ons_status_out_of_memory();
    link->at_once = at_once;
    for (uint32_t i = 0; i < at_once; ++i) {
        ONS_TRY(device->event_new(device, &link->messages[i].ready));
        ONS_TRY(device->event_new(device, &link->messages[i].gone));
    }
    return NULL;
}

ons_status *ons_links_open(ons_links *l, ons_device *device, uint32_t from, uint32_t to, uint32_t number, bool sends,
                           uint32_t at_once, ons_link **result) {
    pthread_mutex_lock(&l->lock);
    ons_link *link = find_or_add(l, from, to, number);
    ons_status *status = link == NULL ? ons_status_out_of_memory() : NULL;
    if (status == NULL && sends) status = make_messages(link, device, at_once);
    pthread_mutex_unlock(&l->lock);
    *result = link;
    return status;
}

void ons_link_close(ons_link *link, bool sends) {
    if (link == NULL || !sends) return;
    for (uint32_t i = 0; i < link->at_once; ++i) {
        link->device->event_free(link->messages[i].ready);
        link->device->event_free(link->messages[i].gone);
    }
    free(link->messages);
    link->messages = NULL;
    link->at_once = 0;
}

void ons_link_offer(ons_link *link, ons_stream *stream, const void *address, size_t bytes, uint64_t *ticket) {
    pthread_mutex_lock(&link->links->lock);
    message *m = &link->messages[link->offered % link->at_once];
    m->address = address;
    m->bytes = bytes;
    link->device->event_record(stream, m->ready);
    *ticket = link->offered++;
    announce_news(link->links);
    pthread_mutex_unlock(&link->links->lock);
}

bool ons_link_wait_gone(ons_link *link, ons_stream *stream, uint64_t ticket) {
    pthread_mutex_lock(&link->links->lock);
    bool gone = link->taken > ticket;
    if (gone) link->device->stream_wait(stream, link->messages[ticket % link->at_once].gone);
    pthread_mutex_unlock(&link->links->lock);
    return gone;
}

uint32_t ons_link_at_once(const ons_link *link) { return link->at_once; }

uint64_t ons_link_next(const ons_link *link) { return link->offered; } /* which the sender alone changes */

bool ons_link_offers(const ons_link *link) {
    pthread_mutex_lock(&link->links->lock);
    bool offers = link->taken < link->offered;
    pthread_mutex_unlock(&link->links->lock);
    return offers;
}

void ons_link_await(ons_link *link, ons_stream *stream) {
    pthread_mutex_lock(&link->links->lock);
    if (link->taken < link->offered)
        link->device->stream_wait(stream, link->messages[link->taken % link->at_once].ready);
    pthread_mutex_unlock(&link->links->lock);
}

ons_status *ons_link_take(ons_link *link, ons_stream *stream, void *address, size_t bytes, bool *taken) {
    ons_status *status = NULL;
    pthread_mutex_lock(&link->links->lock);
    *taken = link->taken < link->offered;
    const message *m = *taken ? &link->messages[link->taken % link->at_once] : NULL;
    if (m != NULL && m->bytes != bytes) {
        status = ons_status_new(ONS_DEFECT, "stage %u sends %zu bytes, stage %u expects %zu", link->from, m->bytes,
                                link->to, bytes);
    } else if (m != NULL) {
        link->device->stream_wait(stream, m->ready);
        link->device->copy(stream, address, m->address, bytes);
        link->device->event_record(stream, m->gone);
        ++link->taken;
        announce_news(link->links);
    }
    pthread_mutex_unlock(&link->links->lock);
    return status;
}

uint64_t ons_links_news(ons_links *l) {
    pthread_mutex_lock(&l->lock);
    uint64_t news = l->news;
    pthread_mutex_unlock(&l->lock);
    return news;
}

/* A failure of the world is no news of the links: it is looked for now and then. */
ons_status *ons_links_await_news(ons_links *l, uint64_t seen, ons_transport *transport) {
    enum { A_WHILE = 10 * 1000 * 1000 };
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += A_WHILE;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&l->lock);
    if (l->news == seen) pthread_cond_timedwait(&l->changed, &l->lock, &until);
    pthread_mutex_unlock(&l->lock);
    return transport->failure(transport);
}
