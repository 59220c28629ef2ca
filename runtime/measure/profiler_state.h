/* What a measurement consists of: shared by profiler.c and profiler_discrete.c. */
#ifndef ONSTAGE_RUNTIME_MEASURE_PROFILER_STATE_H
#define ONSTAGE_RUNTIME_MEASURE_PROFILER_STATE_H

#include "runtime/measure/profiler.h"

typedef struct ons_discrete_profiler ons_discrete_profiler;

typedef struct ons_profiling {
    const ons_profiler_options *o;
    double *now;                       /* of each node, in the repetition that runs */
    double *kept;                      /* [node][repetition] */
    double *steps, *feeds, *handovers; /* [repetition] */
    size_t nodes;                      /* of the graph */
    int64_t counted;                   /* repetitions so far, without the warm-up */
    double share;                      /* of the part that runs: its times are those of so many micro-batches */
    ons_step step;
    ons_node_observer *observer;
    uint32_t slots;
    double feed_seconds, step_seconds, whole_seconds, handover_seconds; /* of the run; whole: with all micro-batches */
    ons_program_fault fault;
    ons_arena *arena;
    const char *unrecorded;          /* why whole steps are not repeated as recordings; NULL: nothing was refused */
    ons_discrete_profiler *discrete; /* of a device whose memory the host cannot access; NULL elsewhere */
} ons_profiling;

/* profiler_discrete.c: a device with discrete memory measures by its own clock. There is nothing to do on others. */
ons_status *ons_profiler_open_discrete(ons_profiling *profiling, ons_arena *arena);
void ons_profiler_close_discrete(ons_profiling *profiling); /* also after a failure */
/* Runs one step: every node timed by itself (`now`, without the times of the whole), or run as the trainer does. */
ons_status *ons_profiler_run_discrete(ons_profiling *profiling, bool every_node);

#endif
