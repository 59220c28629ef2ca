/* What a message from a device to another costs.
 *
 * link_eager_bytes 0: latency + bytes / bandwidth, one message after another. Where it is said, messages of at most so
 * many bytes leave without asking: the link is busy for bytes / bandwidth, and while one travels the next may leave; it
 * waits at the other end until there is room. For a larger one the sender asks, and the data follow the answer: it
 * takes two latencies more, in which neither the next one leaves nor its place is used again. */
#ifndef ONSTAGE_PLANNER_PARTITION_LINK_H
#define ONSTAGE_PLANNER_PARTITION_LINK_H

#include "planner/partition/partition.h"

static inline bool ons_link_overlaps(const ons_planning_problem *p) {
    return p->link_bandwidth > 0 && p->link_eager_bytes > 0;
}

static inline bool ons_link_asks(const ons_planning_problem *p, int64_t bytes) {
    return ons_link_overlaps(p) && bytes > p->link_eager_bytes;
}

/* Gives the seconds of a message from the moment at which it is made, where nobody has to wait. 0: links cost nothing.
 */
static inline double ons_link_seconds(const ons_planning_problem *p, int64_t bytes) {
    if (p->link_bandwidth <= 0) return 0;
    return (ons_link_asks(p, bytes) ? 3 : 1) * p->link_latency + (double)bytes / p->link_bandwidth;
}

/* Gives the last seconds of a message, in which the link serves the next one. */
static inline double ons_link_travel(const ons_planning_problem *p) {
    return ons_link_overlaps(p) ? p->link_latency : 0;
}

/* Gives a lower bound of the seconds of so many bytes, in messages of whatever size. */
static inline double ons_link_least(const ons_planning_problem *p, int64_t bytes) {
    return p->link_bandwidth > 0 && bytes > 0 ? p->link_latency + (double)bytes / p->link_bandwidth : 0;
}

#endif
