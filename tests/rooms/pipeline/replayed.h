/* A schedule's lists carried out by one thread, device after device, as far as each goes: what training with stages of
 * different micro-batches, and copies of them, must come to, bit by bit. The stages' programs run, and what they send
 * lies in the host's memory, unit by unit, until it is read; what the copies of a stage add up is added up in their
 * order before the update. It knows of no worker, streams, rings, pieces, reducers or transports. Nothing may be
 * swapped, and no stage with copies keep running statistics. */
#ifndef ONSTAGE_TESTS_ROOMS_PIPELINE_REPLAYED_H
#define ONSTAGE_TESTS_ROOMS_PIPELINE_REPLAYED_H

#include "engine/stages/dataset_graphs.h"

typedef struct replayed replayed;

typedef struct replayed_options {
    const ons_model *model;
    const ons_config *config;
    ons_batching batching;
    const ons_dataset_graphs *dataset_graphs; /* cut */
    const ons_schedule *schedule;             /* synchronous */
    int threads;
} replayed_options;

/* All that the options point to outlives it. */
ons_status *replayed_new(const replayed_options *options, replayed **result);
void replayed_free(replayed *r); /* NULL is fine */

/* *norm: NaN where nobody asks. */
ons_status *replayed_step(replayed *r, uint64_t step, double rate, double *loss, double *norm);

/* Square sum of a trained weight's gradient. */
ons_status *replayed_square(const replayed *r, uint32_t index, double *square);

ons_device_context *replayed_device_context(const replayed *r, uint32_t index);

#endif
