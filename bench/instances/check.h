/* Judges a solution: whether it is valid, and its value, from the problem's files alone. Nothing of the planner is
 * used. */
#ifndef ONSTAGE_BENCH_INSTANCES_CHECK_H
#define ONSTAGE_BENCH_INSTANCES_CHECK_H

#include "bench/instances/problem.h"

typedef struct check_result {
    double value; /* what the problem's objective says */
    double step_seconds, bottleneck_seconds;
    int64_t memory_bytes; /* of the fullest device */
} check_result;

/* ONS_INVALID_DATA: the solution is not valid, and why. Scratch in `arena`. */
ons_status *instance_check(const instance *in, const void *json, size_t size, ons_arena *arena,
                           check_result *check_result);

/* Gives a value that no solution is below, and from what it follows. */
ons_status *instance_bound(const instance *in, ons_arena *arena, double *value, const char **from);

#endif
