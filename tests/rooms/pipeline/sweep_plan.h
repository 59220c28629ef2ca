/* Plans of the sweep: files that runs with threads and with processes follow alike. */
#ifndef ONSTAGE_TESTS_ROOMS_PIPELINE_SWEEP_PLAN_H
#define ONSTAGE_TESTS_ROOMS_PIPELINE_SWEEP_PLAN_H

#include "tests/rooms/pipeline/pipeline_run.h"

/* Plans the model's run for the setting's stages and devices. `schedule`: a generator's name, or
 *   flexpipe   FlexPipe's, circular, later stages first on the way forth and earlier ones on the way back
 *   separated  1f1b, or interleaved where a device has several stages, with gradients apart (separate.h)
 * which go through a file as --schedule reads it.
 * `capped`: *cap is a fifth of the way from the least memory in which the run is possible to what it takes without a
 * cap; else 0. ONS_INVALID_ARGUMENT: there is no such schedule, or no such cut. */
ons_status *sweep_plan(const pipeline_setting *setting, const char *schedule, bool capped, const char *path,
                       int64_t *cap);

/* Whether such a schedule is known at all. */
bool sweep_knows_schedule(const char *schedule);

#endif
