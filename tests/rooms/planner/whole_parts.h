/* Steps of stages that wait for all that they receive at the beginning of a part and send all at its end, as plans say
 * that do not name the pieces at which messages are made and read; and as others than the simulator count. */
#ifndef ONSTAGE_TESTS_ROOMS_PLANNER_WHOLE_PARTS_H
#define ONSTAGE_TESTS_ROOMS_PLANNER_WHOLE_PARTS_H

#include "planner/simulate/pipeline_simulation.h"

/* As ons_pipeline_simulate, of a setup without parts. */
ons_status *whole_parts_simulate(const ons_pipeline_setup *setup, ons_arena *arena, ons_pipeline_forecast *forecast);

#endif
