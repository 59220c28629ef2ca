/* What messages between processes cost, by exchanging some: latency, bandwidth, and how large one may be to leave
 * without asking. Two ranks at a time send a message there and back while all others are silent; half of that is a
 * message's time. Pairs and sizes take turns, round by round, so that what disturbs for a while disturbs all alike, and
 * of each the median counts. */
#ifndef ONSTAGE_RUNTIME_MEASURE_LINK_SPEED_H
#define ONSTAGE_RUNTIME_MEASURE_LINK_SPEED_H

#include "runtime/transport/transport.h"

/* As planner/partition/link.h has it: latency + bytes / bandwidth, two latencies more above eager_bytes. */
typedef struct ons_link_speed {
    uint32_t pairs;            /* that were measured; 0: there is no such link, and nothing else holds */
    double bandwidth;          /* bytes a second each way, of large messages; the median of the pairs */
    double latency;            /* seconds of a message of 64 bytes; the median of the pairs */
    double slowest;            /* the bandwidth of the slowest pair */
    uint32_t slowest_ranks[2]; /* the slowest pair */
    int64_t eager_bytes; /* messages of up to so many bytes leave without asking, by the first pair; 0: no step of two
                            latencies was found */
} ons_link_speed;

typedef struct ons_link_speeds {
    ons_link_speed in_host, between_hosts;
} ons_link_speeds;

/* All ranks call it, and all come to the same. At most 16 pairs of each kind are measured, evenly taken. */
ons_status *ons_link_speeds_measure(ons_transport *transport, ons_link_speeds *speeds);

#endif
