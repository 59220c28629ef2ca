/* --schedule: lists that somebody wrote, in the place of a generator. */
#ifndef ONSTAGE_ENGINE_CONFIG_SCHEDULE_FILE_H
#define ONSTAGE_ENGINE_CONFIG_SCHEDULE_FILE_H

#include "engine/config/config.h"

/* Reads the file, where there is one; from here on the configuration has its stages, devices and micro-batches. Fails
 * where options say something else. What the file says lives in `arena`. */
ons_status *ons_config_follow_schedule(ons_config *config, ons_arena *arena);

#endif
