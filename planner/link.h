/* What a message from a device to another costs.
 *
 *   link_eager_bytes 0    latency + bytes / bandwidth, one message after another
 *   up to that many       the same, but it leaves without asking: while it travels the next one may leave, and it waits
 * at the other end until there is room for it more                  the sender asks first, and the data follow the
 * answer: two latencies more; one after another
 */
#ifndef ONSTAGE_PLANNER_LINK_H
#define ONSTAGE_PLANNER_LINK_H

#include "planner/partition/partition.h"

static inline bool ons_link_is_eager(const ons_planning_problem *p, int64_t bytes) {
    return p->link_bandwidth > 0 && bytes <= p->link_eager_bytes && p->link_eager_bytes > 0;
}

/* From the moment at which it is made, where nobody has to wait. 0: links cost nothing. */
static inline double ons_link_seconds(const ons_planning_problem *p, int64_t bytes) {
    if (p->link_bandwidth <= 0) return 0;
    bool asks = p->link_eager_bytes > 0 && bytes > p->link_eager_bytes;
    return (asks ? 3 : 1) * p->link_latency + (double)bytes / p->link_bandwidth;
}

/* How long it keeps the link from the next one. */
static inline double ons_link_busy(const ons_planning_problem *p, int64_t bytes) {
    return ons_link_is_eager(p, bytes) ? (double)bytes / p->link_bandwidth : ons_link_seconds(p, bytes);
}

/* So many bytes in messages of whatever size: no more than they take, and the most of it that the link is free. */
static inline double ons_link_least(const ons_planning_problem *p, int64_t bytes) {
    return p->link_bandwidth > 0 && bytes > 0 ? p->link_latency + (double)bytes / p->link_bandwidth : 0;
}
static inline double ons_link_travel(const ons_planning_problem *p) {
    return p->link_eager_bytes > 0 ? p->link_latency : 0;
}

#endif
