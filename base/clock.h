/* The time that has passed: a clock that never goes back and begins anywhere. */
#ifndef ONSTAGE_BASE_CLOCK_H
#define ONSTAGE_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t ons_clock_nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline double ons_clock_seconds(void) { return 1e-9 * (double)ons_clock_nanoseconds(); }

#endif
