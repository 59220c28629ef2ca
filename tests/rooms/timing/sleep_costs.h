/* What models and device profiles have to know of the operator that sleeps. */
#ifndef ONSTAGE_TESTS_ROOMS_TIMING_SLEEP_COSTS_H
#define ONSTAGE_TESTS_ROOMS_TIMING_SLEEP_COSTS_H

#define SLEEP_DOMAIN           "onstage.test"
#define SLEEP_FLOPS_PER_SECOND 1e9

#endif
