/* Some ranks of a world that follow each other, as a world of their own for those who send and receive: the stages of
 * one replica, among those of all. */
#ifndef ONSTAGE_RUNTIME_TRANSPORT_TRANSPORT_GROUP_H
#define ONSTAGE_RUNTIME_TRANSPORT_TRANSPORT_GROUP_H

#include "runtime/transport/transport.h"

/* `world` is one of ranks [first, first + count) and outlives the result. A failure is one of the whole world; there is
 * no meeting of a group: gather is NULL. */
ons_status *ons_transport_group_new(ons_transport *world, uint32_t first, uint32_t count, ons_transport **group);

#endif
