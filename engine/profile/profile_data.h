/* What a profiled step computes on: the first samples of the data that was given, or made-up ones. */
#ifndef ONSTAGE_ENGINE_PROFILE_PROFILE_DATA_H
#define ONSTAGE_ENGINE_PROFILE_PROFILE_DATA_H

#include "engine/model/model_graph.h"
#include "runtime/measure/profiler.h"

typedef struct ons_profile_data {
    ons_profiler_input *inputs; /* of every input of the stage; the data is owned */
    uint32_t count;
    double counted_targets; /* all targets count */
} ons_profile_data;

/* Whether the configuration names data at all. */
bool ons_profile_has_data(const ons_config *config);

/* `dataset` NULL: floats are drawn from [0, 1) by `seed`; integers and targets are zeros, which index anything. The
 * lists live in `arena`; free the rest also after a failure. */
ons_status *ons_profile_data_make(const ons_model *model, ons_dataset *dataset, const ons_model_graph *stage,
                                  uint64_t seed, ons_arena *arena, ons_profile_data *data);
/* What they take. */
int64_t ons_profile_data_bytes(const ons_model_graph *stage);
void ons_profile_data_free(ons_profile_data *data); /* a zeroed one is fine */

#endif
