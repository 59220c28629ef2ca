/* Measures how long each node of a program takes on its device. */
#ifndef ONSTAGE_RUNTIME_MEASURE_PROFILER_H
#define ONSTAGE_RUNTIME_MEASURE_PROFILER_H

#include "runtime/program/device_context.h"

/* What a value of the programs holds when a part begins; `data` outlives the call. */
typedef struct ons_profiler_input {
    ons_value_id value; /* ONS_NONE: nothing reads it */
    ons_part part;      /* forward or backward: the trainer puts it in then */
    const void *data;
    size_t bytes;
} ons_profiler_input;

typedef struct ons_profiler_options {
    uint32_t slots;                     /* of the program: micro-batches between forward and backward part; 0: 1 */
    ons_device_context *device_context; /* started */
    ons_program *program;               /* of the device context: is timed node by node */
    ons_program *whole; /* of the same graph, as the trainer has it: is timed as a whole; nodes may idle in it */
    const ons_profiler_input *inputs;
    uint32_t input_count;
    ons_step step;       /* the rate should be 0, so that the weights stay what they are */
    int64_t repetitions; /* those that count; ONS_PROFILER_WARM_UP more come before */
    bool repeats_steps; /* the trainer repeats such steps as recordings, where the device can: so are whole ones here */
    ons_progress *progress; /* after every repetition; may be NULL */
    void *progress_context;
} ons_profiler_options;

enum { ONS_PROFILER_WARM_UP = 2 };

typedef struct ons_program_times {
    double *node_seconds;  /* of each node of the graph; 0: it does not run */
    double launch_seconds; /* from one node that runs to the next: what a step takes beyond the sum of its nodes, by
                              medians or by the fastest, whichever is less, so that other work on the machine counts
                              little */
    /* Of steps in which no node was timed: */
    double step_seconds;     /* from the first node to the last */
    double feed_seconds;     /* data of a micro-batch, into the device's memory */
    double handover_seconds; /* from the host's thread to the compute stream's and back: nothing runs meanwhile */
    const char *unrecorded;  /* why they were not repeated as recordings; NULL: nothing was refused */
} ons_program_times;

/* Medians over the repetitions of a whole step: beginning, one micro-batch, end. Where the program has several slots,
 * all are filled before the first backward part, and the times are those of one micro-batch. Each is run twice: node by
 * node, and as the trainer runs it. Results in `arena`. Fails where a kernel reports a fault (naming node and remedy),
 * and with ONS_INTERRUPTED where `progress` says so. */
ons_status *ons_profiler_run(const ons_profiler_options *options, ons_arena *arena, ons_program_times *times);

#endif
