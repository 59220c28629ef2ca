/* DawnPiper, FlexPipe, Pfeife, AutoPipe and GraphPipe side by side, each as its paper has it, on the same models,
 * devices and caps, and the planner's own choice among all of them. */
#ifndef ONSTAGE_BENCH_SCHEDULES_FIVE_H
#define ONSTAGE_BENCH_SCHEDULES_FIVE_H

#include <stdint.h>

#include "base/arena.h"

enum { FIVE_CASES = 10, FIVE_SYSTEMS = 6 };

typedef struct five_row {
    const char *system;
    const char *choice; /* what it chose */
    const char *why;    /* where it has no plan; else NULL */
    double step_seconds, bubble_share;
    int64_t bytes;         /* of the fullest device, at any time of the simulation */
    double search_seconds; /* of the processor, one thread */
} five_row;

typedef struct five_result {
    const char *model;
    uint32_t devices, micro_batches;
    int64_t capacity_bytes;
    five_row rows[FIVE_SYSTEMS];
} five_result;

/* Fills in results[FIVE_CASES] and tells how many there are; everything in `arena`. */
ons_status *five_measure(ons_arena *arena, five_result *results, uint32_t *count);

#endif
