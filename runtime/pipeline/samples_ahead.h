/* Samples of a step that are on the device before it begins: what the feed has gathered is copied on a stream of its
 * own while the step before is computed, to one of two places in the arena. The step then copies within the device's
 * memory, some twenty times as fast as from the host's. */
#ifndef ONSTAGE_RUNTIME_PIPELINE_SAMPLES_AHEAD_H
#define ONSTAGE_RUNTIME_PIPELINE_SAMPLES_AHEAD_H

#include "runtime/data/feed.h"
#include "runtime/program/device_context.h"

/* Tells the most that both places take together. Where a step has more, its samples are copied when it runs. */
int64_t ons_samples_ahead_most(void);

typedef struct ons_samples_ahead ons_samples_ahead;

/* *ahead NULL: the arena has no room for them (ons_device_context_reserve_samples). `context`, which has been started,
 * and `feed` outlive it. */
ons_status *ons_samples_ahead_new(ons_device_context *context, const ons_feed *feed, ons_samples_ahead **ahead);
void ons_samples_ahead_free(ons_samples_ahead *ahead); /* NULL is fine */

/* Puts the copy of the first `rows` samples of a slot of the feed on the stream. The step that had the slot before has
 * been waited for. */
void ons_samples_ahead_copy(const ons_samples_ahead *ahead, int slot, size_t rows);

/* Makes the compute stream wait for that copy. */
void ons_samples_ahead_await(const ons_samples_ahead *ahead, int slot);

/* Finds where sample `row` of a field lies, in the device's memory. */
const void *ons_samples_ahead_sample(const ons_samples_ahead *ahead, int slot, uint32_t field, size_t row);

#endif
