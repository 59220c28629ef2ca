/* Pfeife's own estimates of a step (its table 5, eight micro-batches) from two numbers: what a message takes, and what
 * every forward and backward part takes beside its nodes. Both are fitted to its rows for two devices; what they say
 * about four and eight is then a prediction. The work of a micro-batch follows from the row without loops.
 */
#ifndef ONSTAGE_BENCH_SCHEDULES_FIT_H
#define ONSTAGE_BENCH_SCHEDULES_FIT_H

#include "base/status.h"
#include "tests/rooms/planner/vision_work.h"

typedef struct fit_row {
    const char *model;
    uint32_t devices, loops, prefetch;
    double paper_ms;     /* estimated time */
    double predicted_ms; /* ours */
} fit_row;

typedef struct fit_result {
    double link_ms, part_ms;
    fit_row *rows;
    uint32_t count;
    double seconds; /* of the fit */
} fit_result;

/* Everything in `arena`. */
ons_status *fit_table_5(ons_arena *arena, fit_result *result);

#endif
