/* What the device reaches at best, by micro-benchmark or as it was measured before, and a device profile of it. */
#ifndef ONSTAGE_ENGINE_PROFILE_PROFILE_SPEED_H
#define ONSTAGE_ENGINE_PROFILE_PROFILE_SPEED_H

#include <stdio.h>

#include "engine/config/config.h"
#include "planner/cost/device_profile.h"
#include "runtime/measure/cost_cache.h"
#include "runtime/measure/device_speed.h"
#include "runtime/measure/gpu_speed.h"
#include "runtime/program/device_context.h"

typedef struct ons_profile_speed {
    bool gpu; /* which of the two was measured */
    ons_device_speed of_cpu;
    ons_gpu_speed of_gpu;
} ons_profile_speed;

/* `cache` NULL: measured in any case. */
ons_status *ons_profile_speed_find(const ons_config *config, int threads, ons_cost_cache *cache,
                                   ons_profile_speed *speed);

/* Fills *profile, but for name, title and what is fitted; `fitted`: a line of sources on that. `device_context` has
 * run. What the profile has no place for goes to `notes`. */
ons_status *ons_profile_speed_describe(const ons_profile_speed *speed, const ons_device_context *device_context,
                                       const char *fitted, ons_arena *arena, ons_device_profile *profile, FILE *notes);

#endif
