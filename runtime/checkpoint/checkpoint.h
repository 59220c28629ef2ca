/* Checkpoints: everything that a run needs to go on as if it had not stopped.
 *
 *   DIR/step-00000120.safetensors    weights "NAME", optimiser states "NAME#exp_avg", …, by initialiser name
 *   DIR/step-00000120.json           the rest, and size and crc32 of the file above
 *
 * With --best the first file has the weights of the best validation, too: "NAME#best".
 *
 * Where several processes write, each has a file of its own, a shard, and the JSON lists them all; which tensor is in
 * which of them means nothing:
 *
 *   DIR/step-00000120.0-of-4.safetensors … step-00000120.3-of-4.safetensors
 *
 * All are written under temporary names and synced; the JSON gets its name last. So a checkpoint exists exactly from
 * the moment at which its JSON does, and one that was cut off, or whose data do not match the JSON, is passed over.
 * Saving the same step once more writes to other data files (step-00000120-1.safetensors) before the JSON changes
 * over.
 */
#ifndef ONSTAGE_RUNTIME_CHECKPOINT_CHECKPOINT_H
#define ONSTAGE_RUNTIME_CHECKPOINT_CHECKPOINT_H

#include "base/json.h"
#include "runtime/data/safetensors.h"

typedef struct ons_checkpoint_info {
    uint64_t step;     /* updates done */
    uint64_t epoch;    /* from 0 */
    uint64_t position; /* samples of that epoch that are used up */
    uint64_t seed;
    uint32_t threads;
    const char *optimizer;      /* "adamw" */
    const char *options_digest; /* of all that must not change between runs */
    const char *versions; /* of the libraries that compute, and the variant of our own kernels: whose bits they are */
    const ons_json *more; /* the caller's own object, or NULL */
} ons_checkpoint_info;

/* Makes the folder if it is missing, writes, and then removes older checkpoints beyond the newest `keep` (≥ 1), as well
 * as leftovers of writers that were killed. The space of what was removed may be given back only afterwards
 * (runtime/checkpoint/removal.h), at the latest before the next checkpoint is written. On failure the checkpoints that
 * exist stay as they were. Texts may be NULL. */
ons_status *ons_checkpoint_write(const char *folder, const ons_checkpoint_info *info,
                                 const ons_safetensors_content *content, uint32_t keep);

/* -------------------------------------------------------------------------------------------------- several writers */

/* Each writer of a checkpoint calls, in this order:
 *   prepare       the first of them; all must know *copy before they
 *   write_shard   each; all shards must be written before
 *   complete      the first, with what the others say of theirs
 *
 * They see the same folder (a shared file system). Each tensor is in one shard. */
enum { ONS_SHARD_NAME_BYTES = 96 };

/* Which shard of which checkpoint. */
typedef struct ons_shard_place {
    uint64_t step;
    uint32_t copy; /* of the same step */
    uint32_t index, count;
} ons_shard_place;

/* A shard on the disk; can be handed to another process as it is. */
typedef struct ons_shard {
    char file[ONS_SHARD_NAME_BYTES]; /* without the folder */
    uint64_t bytes;
    uint32_t crc;
    uint32_t unused; /* 0 */
} ons_shard;

/* Makes the folder if it is missing, and finds names that are free. */
ons_status *ons_checkpoint_prepare(const char *folder, uint64_t step, uint32_t *copy);
/* Under a name of its own, until complete takes it. */
ons_status *ons_checkpoint_write_shard(const char *folder, const ons_shard_place *place,
                                       const ons_safetensors_content *content, ons_shard *shard);
/* Takes a shard back whose checkpoint will not be completed. One that the first writer has already taken for the
 * checkpoint stays: a writer that learns nothing of the others any more need not know which of the two it is. */
void ons_checkpoint_remove_shard(const char *folder, const ons_shard *shard);
/* Writes the JSON, and removes what is old, as ons_checkpoint_write does; on failure the shards as well. Fails where a
 * shard is there no more: this process may have stood still for so long that its writer gave up and took it back. */
ons_status *ons_checkpoint_complete(const char *folder, const ons_checkpoint_info *info, const ons_shard *shards,
                                    uint32_t count, uint32_t keep);

/* ---------------------------------------------------------------------------------------------------------- reading */

typedef struct ons_checkpoint_part {
    ons_safetensors tensors; /* in the mapping */
    ons_mapping mapping;
} ons_checkpoint_part;

typedef struct ons_checkpoint {
    ons_checkpoint_info info;   /* texts are never NULL; they live in `json` */
    ons_checkpoint_part *parts; /* owned */
    uint32_t part_count;
    ons_json *json;
    uint32_t skipped;           /* newer ones that are broken ... */
    ons_status *skipped_reason; /* ... and why the newest of them is; owned */
} ons_checkpoint;

/* Opens the complete checkpoint with the highest step. *found is false, without failure, where the folder is missing or
 * holds none at all; where all that it holds are broken, that is a failure. Changes nothing in the folder. */
ons_status *ons_checkpoint_open_newest(const char *folder, ons_checkpoint *checkpoint, bool *found);
void ons_checkpoint_close(ons_checkpoint *checkpoint); /* a zeroed one is fine */

/* NULL where there is none. */
const ons_tensor *ons_checkpoint_find(const ons_checkpoint *checkpoint, const char *name);

/* Tests whether a run without --resume would mix its checkpoints with those of another: the folder holds one. */
bool ons_checkpoint_exists(const char *folder);

#endif
