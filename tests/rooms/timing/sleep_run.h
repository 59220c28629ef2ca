/* Trains sleeping layers, in a row or in branches, over stages, and says how long its steps take and how long the
 * simulator says that they do. Without Criterion, so that plain programs use it too. */
#ifndef ONSTAGE_TESTS_ROOMS_TIMING_SLEEP_RUN_H
#define ONSTAGE_TESTS_ROOMS_TIMING_SLEEP_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define SLEEP_RATE "0.01" /* of learning, by sgd */
enum { SLEEP_ROWS = 2 };

typedef struct sleep_setting {
    const char *pipeline;          /* as the option; "graphpipe": that partition, which makes the schedule, too */
    uint32_t stages;               /* a layer each */
    uint32_t layers;               /* of one stage; 0: one */
    const uint32_t *branches;      /* layers of each branch between the first layer and the last, which adds them up */
    uint32_t branch_count;         /* 0: layers follow each other */
    uint32_t replicas;             /* 0: one */
    uint32_t devices;              /* 0: as the schedule takes them */
    uint32_t micro_batches;        /* of SLEEP_ROWS rows each */
    uint32_t slices;               /* micro-batches with forward parts in halves */
    bool traced;                   /* `start` is asked for */
    uint32_t columns;              /* a message has eight bytes for each */
    uint32_t steps;                /* that are trained: the first one warms up */
    double forward, input, weight; /* seconds of a layer for a micro-batch */
    double latency, bandwidth;     /* of a link, as the device profile has them: seconds, bytes a second */
    uint32_t eager_bytes;          /* of a link, as the device profile has them; 0: not said */
    bool input_first;              /* see sleep_operator.h */
    bool processes; /* this process is one of those that mpirun has started; else all stages are threads */
} sleep_setting;

typedef struct sleep_times {
    double simulated, measured; /* seconds of a step; the median of those that were measured */
    double least;               /* seconds of the quickest step that was measured */
    double start;               /* median seconds from the first stage's first forward part to the last stage's */
    double loss;                /* of the last step */
    float weight;               /* the first of layer 0, where stages are threads */
    bool is_root;               /* false: another process tells the user */
} sleep_times;

/* What is fed: rows of such elements, the same in every step; targets are their halves, weights begin as 1. */
float sleep_input(size_t element);

/* Of an asynchronous schedule the simulated time is that of the steady state, while the measured one is of a step that
 * begins and ends with an empty pipeline: two runs with unlike numbers of micro-batches differ by steady ones. */
ons_status *sleep_run(const sleep_setting *setting, sleep_times *times);

#endif
