/* What a message from a device to another costs.
 *
 * eager_bytes 0: latency + bytes / bandwidth, one message after another. Where it is said, messages of at most so many
 * bytes leave without asking: the link is busy for bytes / bandwidth, and while one travels the next may leave; it
 * waits at the other end until there is room. For a larger one the sender asks, and the data follow the answer: it
 * takes two latencies more, in which neither the next one leaves nor its place is used again.
 *
 * Devices are numbered replica by replica, as ranks are, and fill one node after the other: number n lies in node
 * n / node_devices. All replicas wait for the slowest, so two of a replica's devices have the network between them
 * where those of any replica have. */
#ifndef ONSTAGE_PLANNER_PARTITION_LINK_H
#define ONSTAGE_PLANNER_PARTITION_LINK_H

#include "planner/partition/partition.h"

typedef struct ons_link_cost {
    double bandwidth; /* bytes a second; 0: messages cost nothing */
    double latency;
    int64_t eager_bytes;
} ons_link_cost;

/* Gives the link between devices of one node. */
static inline ons_link_cost ons_link_in_node(const ons_planning_problem *p) {
    return (ons_link_cost){p->link_bandwidth, p->link_latency, p->link_eager_bytes};
}

/* Gives the link between two devices of a replica. */
ons_link_cost ons_link_between(const ons_planning_problem *problem, uint32_t device, uint32_t other);
/* Gives the link between a stage and the one in front of it; `stage` is not the first, and the schedule is set. */
ons_link_cost ons_link_before(const ons_planning_problem *problem, uint32_t stage);
/* Gives the slowest link between devices that hold the same stage in different replicas. */
ons_link_cost ons_link_of_replicas(const ons_planning_problem *problem);

static inline bool ons_link_overlaps(ons_link_cost l) { return l.bandwidth > 0 && l.eager_bytes > 0; }

static inline bool ons_link_asks(ons_link_cost l, int64_t bytes) {
    return ons_link_overlaps(l) && bytes > l.eager_bytes;
}

/* Gives the seconds of a message from the moment at which it is made, where nobody has to wait. 0: links cost nothing.
 */
static inline double ons_link_seconds(ons_link_cost l, int64_t bytes) {
    if (l.bandwidth <= 0) return 0;
    return (ons_link_asks(l, bytes) ? 3 : 1) * l.latency + (double)bytes / l.bandwidth;
}

/* Gives the last seconds of a message, in which the link serves the next one. */
static inline double ons_link_travel(ons_link_cost l) { return ons_link_overlaps(l) ? l.latency : 0; }

/* Gives a lower bound of the seconds of so many bytes, in messages of whatever size. */
static inline double ons_link_least(ons_link_cost l, int64_t bytes) {
    return l.bandwidth > 0 && bytes > 0 ? l.latency + (double)bytes / l.bandwidth : 0;
}

#endif
