/* The files of a run of sleeping layers. */
#ifndef ONSTAGE_TESTS_TIMING_SLEEP_MODEL_H
#define ONSTAGE_TESTS_TIMING_SLEEP_MODEL_H

#include "base/status.h"
#include "tests/timing/sleep_run.h"

static inline uint32_t sleep_layers(const sleep_setting *s) { return s->layers > 0 ? s->layers : s->stages; }

/* x → Sleep → … → Sleep → y: sleep_layers of them, each with a weight of its own, all ones. */
ons_status *sleep_model_write(const sleep_setting *setting, const char *path);

/* A device that computes as many FLOPs a second as the operator states for a second, and nothing else that takes time;
 * links with the setting's latency. */
ons_status *sleep_profile_write(const sleep_setting *setting, const char *path);

#endif
