/* Messages between some ranks that all exchange them with each other, each in its GPU's memory: the replicas of a
 * stage. They go by NCCL where each rank has a GPU, by links where they share one.
 *
 * An exchange is a number of rounds, in each of which a rank sends to each other and receives from each other, turn by
 * turn: in turn t to the one that is t behind it, from the one that is t before it. All ranks make the same exchanges
 * in the same order.
 */
#ifndef ONSTAGE_RUNTIME_TRANSPORT_CIRCLE_H
#define ONSTAGE_RUNTIME_TRANSPORT_CIRCLE_H

#include "runtime/transport/links.h"
#include "runtime/transport/transport_nccl.h"

typedef struct ons_circle ons_circle;

typedef struct ons_circle_options {
    ons_transport *world;
    ons_device *device;
    ons_nccl *nccl;        /* one of the two */
    ons_links *links;      /* the ranks are in this process */
    const uint32_t *ranks; /* of the world; they outlive the circle */
    uint32_t count, own;   /* ranks, and which of them this one is */
    uint32_t number;       /* unique among the channels of the ranks */
    ons_stream *stream;    /* on which exchanges are put */
} ons_circle_options;

ons_status *ons_circle_new(const ons_circle_options *options, ons_circle **circle);
void ons_circle_free(ons_circle *circle); /* when its stream has run, before NCCL and links; NULL is fine */

/* Tests whether an exchange keeps the calling thread until the others have come to theirs. Otherwise it is put on the
 * stream, and the thread goes on. */
bool ons_circle_meets(const ons_circle *circle);

/* What the thread does each time before it waits for others, so that they need not wait for it. */
typedef struct ons_meanwhile {
    ons_status *(*run)(void *context); /* NULL: nothing */
    void *context;
} ons_meanwhile;
void ons_circle_set_meanwhile(ons_circle *circle, const ons_meanwhile *meanwhile);

/* Messages to one rank in a round, at most. */
enum { ONS_CIRCLE_ROUND = 256 };

/* Puts the messages of a turn: some to `to`, then some from `from`, both numbers in the circle. */
typedef void ons_circle_turn(void *context, ons_circle *circle, uint32_t round, uint32_t to, uint32_t from);

/* What comes next on the stream finds that all has come, and may change what has been sent. Fails where the thread was
 * kept and the world has failed; with NCCL the transport's failure tells. */
ons_status *ons_circle_exchange(ons_circle *circle, uint32_t rounds, ons_circle_turn *turn, void *context);

/* For turns alone. */
void ons_circle_send(ons_circle *circle, uint32_t to, const void *data, size_t bytes);
void ons_circle_receive(ons_circle *circle, uint32_t from, void *data, size_t bytes);

#endif
