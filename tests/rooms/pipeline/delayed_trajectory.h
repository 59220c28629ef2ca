/* tests/rooms/pipeline/delayed.h over the data of a training run: its steps, as an asynchronous pipeline would make
 * them. */
#ifndef ONSTAGE_TESTS_ROOMS_PIPELINE_DELAYED_TRAJECTORY_H
#define ONSTAGE_TESTS_ROOMS_PIPELINE_DELAYED_TRAJECTORY_H

#include "engine/stages/dataset_graphs.h"

typedef struct delayed_trajectory delayed_trajectory;

/* Model and configuration outlive it. The graphs are its own. */
ons_status *delayed_trajectory_new(const ons_model *model, const ons_config *config, const ons_batching *batching,
                                   int threads, delayed_trajectory **result);
void delayed_trajectory_free(delayed_trajectory *d); /* NULL is fine */

/* From here on weights are as old as in the cuts of these graphs, which are not needed afterwards. */
ons_status *delayed_trajectory_follow(delayed_trajectory *d, const ons_dataset_graphs *cut);

/* *loss: of the whole step; *norm: of the gradient of its last micro-batch, NaN where nobody asks. */
ons_status *delayed_trajectory_step(delayed_trajectory *d, uint64_t step, double rate, double *loss, double *norm);

/* Square sum of a trained weight's gradient, of the last micro-batch. */
double delayed_trajectory_square(const delayed_trajectory *d, uint32_t index);

/* Has the newest weights, states and statistics. */
ons_device_context *delayed_trajectory_device_context(const delayed_trajectory *d);

#endif
