/* Messages between stages whose devices share one GPU: copies from one arena into the other, with nothing of the host's
 * in between.
 *
 * A sender offers what lies in its memory, with an event that says when it is there. The receiver takes it: it puts the
 * copy on a stream of its own, behind that event, and records when it is done. An event can be waited for only once it
 * has been recorded, so both ends wait for each other on the host, for what was put on streams, not for what has run:
 * a sender before it writes where a message lay, a receiver before it reads what comes. While it waits, a stage goes on
 * taking what it has free places for: then nothing waits for ever that would not in a run by threads.
 */
#ifndef ONSTAGE_RUNTIME_TRANSPORT_LINKS_H
#define ONSTAGE_RUNTIME_TRANSPORT_LINKS_H

#include "device/device.h"
#include "runtime/transport/transport.h"

typedef struct ons_links ons_links; /* of all stages of a process */
typedef struct ons_link ons_link;   /* one way, from one stage to another; in order */

ons_status *ons_links_new(ons_links **links);
void ons_links_free(ons_links *links); /* after everybody has closed his; NULL is fine */

/* Both ends open with the same three numbers and belong to `links`. `at_once`: messages that the sender leaves without
 * knowing that they are gone, at most; the receiver's is not looked at. `device`: the caller's. */
ons_status *ons_links_open(ons_links *links, ons_device *device, uint32_t from, uint32_t to, uint32_t number,
                           bool sends, uint32_t at_once, ons_link **link);
/* Closes one end; each end does, when its streams have run. */
void ons_link_close(ons_link *link, bool sends);

/* Offers a message, for the sender: what is on `stream` so far makes the bytes at `address`; *ticket names the message.
 * Its predecessor by `at_once` must be gone. */
void ons_link_offer(ons_link *link, ons_stream *stream, const void *address, size_t bytes, uint64_t *ticket);
/* Tests whether the message has been taken; then `stream` waits until it is gone. */
bool ons_link_wait_gone(ons_link *link, ons_stream *stream, uint64_t ticket);
uint32_t ons_link_at_once(const ons_link *link);
uint64_t ons_link_next(const ons_link *link); /* ticket of the next message */

/* Tests, for the receiver, whether a message is there to be taken. */
bool ons_link_offers(const ons_link *link);
/* `stream` waits until the message that is offered is there. */
void ons_link_await(ons_link *link, ons_stream *stream);
/* Takes a message if one is offered: its copy to `address` is put on `stream`. */
ons_status *ons_link_take(ons_link *link, ons_stream *stream, void *address, size_t bytes, bool *taken);

/* Waiting for others: how much has happened so far, and until more has (or a while has passed). Fails where the world
 * has. */
uint64_t ons_links_news(ons_links *links);
ons_status *ons_links_await_news(ons_links *links, uint64_t seen, ons_transport *transport);

#endif
