/* Systems that choose schedules, each asked for one model on one number of devices. */
#ifndef ONSTAGE_BENCH_SCHEDULES_SYSTEMS_H
#define ONSTAGE_BENCH_SCHEDULES_SYSTEMS_H

#include "planner/search/portfolio.h"
#include "tests/rooms/planner/vision_work.h"

typedef struct schedules_case {
    const char *model;
    const char *profile; /* of the devices: memory and links */
    vision_work_options work;
    uint32_t devices, micro_batches;
} schedules_case;

typedef struct schedules_row {
    const char *system, *choice; /* choice: the schedule that it took; NULL: its name says it */
    double step_seconds;         /* simulated; infinite: there is none */
    double bubble_share;
    int64_t bytes;         /* of the fullest device; 0: not known */
    double search_seconds; /* of the processor; negative: nothing was searched */
    bool bound, fits;      /* bound: no step of that system is faster */
} schedules_row;

enum { SCHEDULES_ROWS = 12 };

typedef struct schedules_result {
    const schedules_case *of;
    uint32_t nodes;
    int64_t capacity_bytes;
    schedules_row rows[SCHEDULES_ROWS];
    uint32_t count;
    ons_portfolio portfolio;
} schedules_result;

double schedules_now(void); /* seconds of the processor */

/* Everything in `arena`. */
ons_status *schedules_measure(const schedules_case *c, ons_arena *arena, schedules_result *result);

#endif
