/* The files of a run of sleeping layers. */
#ifndef ONSTAGE_TESTS_ROOMS_TIMING_SLEEP_MODEL_H
#define ONSTAGE_TESTS_ROOMS_TIMING_SLEEP_MODEL_H

#include "base/status.h"
#include "tests/rooms/timing/sleep_run.h"

static inline uint32_t sleep_layers(const sleep_setting *s) {
    uint32_t layers = 2;
    if (s->branch_count == 0) return s->layers > 0 ? s->layers : s->stages;
    for (uint32_t i = 0; i < s->branch_count; ++i) layers += s->branches[i];
    return layers;
}

/* x → Sleep → … → Sleep → y: sleep_layers of them, each with a weight of its own, all ones. With branches these begin
 * behind the first layer, and the last one takes their sum. */
ons_status *sleep_model_write(const sleep_setting *setting, const char *path);

/* A device that computes as many FLOPs a second as the operator states for a second, and nothing else that takes time;
 * links with the setting's latency. */
ons_status *sleep_profile_write(const sleep_setting *setting, const char *path);

#endif
