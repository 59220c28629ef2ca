/* States of the optimiser of which each replica, or copy of a stage, keeps a slice (--shard-optimizer), in checkpoints:
 * a whole state has its name there, NAME#exp_avg, the slice of replica 1 of 4 is the vector NAME#exp_avg#1-of-4. Both
 * can be read by a run that keeps states whole, and by one of any number of replicas that does not. */
#ifndef ONSTAGE_ENGINE_TRAIN_STATE_SLICES_H
#define ONSTAGE_ENGINE_TRAIN_STATE_SLICES_H

#include "graph/slice.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/program/device_context.h"

/* Where a checkpoint has a state, or a stage keeps it. */
typedef struct ons_state_place {
    const char *name; /* of the whole state in checkpoints */
    ons_type type;    /* of the whole state */
    uint32_t owner, owners;
} ons_state_place;

/* In `arena`. */
ons_status *ons_state_slice_name(const ons_state_place *place, ons_arena *arena, const char **name);

/* Among how many owners the slices of a state may have been divided that a checkpoint has not whole: its replicas, or
 * the copies of any stage. */
enum { ONS_OWNERS_MOST = 64 };
typedef struct ons_state_owners {
    uint32_t counts[ONS_OWNERS_MOST], count;
} ons_state_owners;

/* Copies the slice of place->owner to `address`. A state that is missing, or of another type, is ONS_INVALID_DATA and
 * named. */
ons_status *ons_state_slice_load(const ons_checkpoint *checkpoint, const ons_state_owners *owners,
                                 const ons_state_place *place, ons_device_context *device_context, void *address);

#endif
