/* Trains a chain of sleeping layers over stages, and says how long its steps take and how long the simulator says that
 * they do. Without Criterion, so that plain programs use it too. */
#ifndef ONSTAGE_TESTS_TIMING_SLEEP_RUN_H
#define ONSTAGE_TESTS_TIMING_SLEEP_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

typedef struct sleep_setting {
    const char *pipeline;    /* as the option */
    uint32_t stages;         /* a layer each */
    uint32_t devices;        /* 0: as the schedule takes them */
    uint32_t micro_batches;  /* of two rows each */
    uint32_t columns;        /* a message has eight bytes for each */
    uint32_t steps;          /* that are trained: the first one warms up */
    double forward, input, weight; /* seconds of a layer for a micro-batch */
    double latency, bandwidth; /* of a link, as the device profile has them: seconds, bytes a second */
    bool processes;          /* this process is one of those that mpirun has started; else all stages are threads */
} sleep_setting;

typedef struct sleep_times {
    double simulated, measured; /* seconds of a step; the median of those that were measured */
    double least;               /* of them */
    double loss;                /* of the last step */
    uint32_t devices;
    bool speaks; /* false: another process tells the user */
} sleep_times;

/* Of an asynchronous schedule all of this is of a step as it is: the pipeline is empty before it and behind. */
ons_status *sleep_run(const sleep_setting *setting, sleep_times *times);

/* What a micro-batch more costs: for schedules whose simulated time is that of the steady state. Runs twice, the second
 * time with `more` micro-batches more; times are of setting->micro_batches in the steady state. */
ons_status *sleep_run_steady(const sleep_setting *setting, uint32_t more, sleep_times *times);

#endif
