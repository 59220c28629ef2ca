/* Samples on their way to the device: gathered into one of two host buffers while the step before is computed. */
#ifndef ONSTAGE_RUNTIME_DATA_FEED_H
#define ONSTAGE_RUNTIME_DATA_FEED_H

#include "device/device.h"
#include "runtime/data/dataset.h"

enum { ONS_FEED_SLOTS = 2 };

/* One model input, or the target. */
typedef struct ons_feed_field {
    uint32_t field;  /* of the dataset */
    ons_type sample; /* as the model takes it, without the batch axis */
    size_t bytes;    /* of one sample */
} ons_feed_field;

typedef struct ons_feed {
    ons_dataset *dataset; /* not owned */
    ons_feed_field *fields;
    uint32_t field_count;
    size_t rows_max;                /* samples a slot holds */
    uint64_t *rows[ONS_FEED_SLOTS]; /* of the whole step, of which a slot may hold some */
    uint8_t *slots[ONS_FEED_SLOTS]; /* field after field, each rows_max samples */
    size_t bytes;
    uint32_t bounded;   /* one of the fields, whose values are refused outside of [0, 1]; ONS_NO_FIELD: none */
    ons_device *device; /* not owned; its host memory is what the slots lie in. NULL: usual memory */
} ons_feed;

/* `fields` is copied. Checks that the dataset can give what is wanted, and allocates the slots, for copies to `device`,
 * which outlives the feed (NULL: any). `step_rows`: samples of a step, at least `rows_max`. */
ons_status *ons_feed_init(ons_feed *feed, ons_device *device, ons_dataset *dataset, const ons_feed_field *fields,
                          uint32_t field_count, size_t rows_max, size_t step_rows);
void ons_feed_free(ons_feed *feed);

/* Gathers the samples rows[slot][first..first + count), which the caller has set, to the slot's places from `to` on. */
ons_status *ons_feed_fill(ons_feed *feed, int slot, size_t first, size_t count, size_t to);

/* By how much a target may lie outside of its bounds: what was computed in half types or rounded on the way. */
#define ONS_BOUNDS_ROUNDING 1e-3

/* Finds the first of `count` floats that lies outside of [low, high]; false: none does. NaN does not. */
bool ons_find_outside(ons_dtype dtype, const void *data, size_t count, double low, double high, size_t *index,
                      double *value);

/* Finds where sample `row` of a field lies in a slot. */
const void *ons_feed_sample(const ons_feed *feed, int slot, uint32_t field, size_t row);

#endif
