/* Random messages between the ranks of a transport, the same on every transport: what its tests and the thread
 * sanitizer run. */
#ifndef ONSTAGE_TESTS_ROOMS_RUNTIME_TRAFFIC_H
#define ONSTAGE_TESTS_ROOMS_RUNTIME_TRAFFIC_H

#include <stdint.h>

#include "runtime/transport/transport.h"

/* This rank's part of the traffic that follows from `seed` and the number of ranks: channels drawn at random, served by
 * a thread each, and gathers meanwhile. Fails where anything but what was sent arrives. *digest: of everything that
 * arrived anywhere, the same at all ranks and with all transports. */
ons_status *ons_traffic_run(ons_transport *transport, uint64_t seed, uint64_t *digest);

#endif
