/* What a stage of a pipeline must hold, for whoever asks for one stage at a time. */
#ifndef ONSTAGE_TESTS_ROOMS_PLANNER_LOADS_H
#define ONSTAGE_TESTS_ROOMS_PLANNER_LOADS_H

#include <stdio.h>
#include <stdlib.h>

#include "planner/schedule/schedule.h"

/* Ends the program where there is no such schedule. */
static inline ons_stage_load load_of_stage(const ons_pipeline *pipeline, uint32_t stage) {
    ons_arena *arena = ons_arena_new();
    ons_schedule schedule;
    ons_status *status = ons_schedule_make(pipeline, arena, &schedule);
    if (status != NULL) {
        fprintf(stderr, "%s\n", ons_status_get_message(status));
        abort();
    }
    ons_stage_load load = schedule.loads[stage];
    ons_arena_free(arena);
    return load;
}

#endif
