/* Checkpoints: everything that a run needs to go on as if it had not stopped.
 *
 *   DIR/step-00000120.safetensors    weights "NAME", optimiser state "NAME#exp_avg", …, by initialiser name
 *   DIR/step-00000120.json           the rest, and size and crc32 of the file above
 *
 * Both are written under temporary names and synced; the JSON gets its name last. So a checkpoint exists exactly from
 * the moment at which its JSON does, and one that was cut off, or whose data do not match the JSON, is passed over.
 * Saving the same step once more writes to a second data file (step-00000120-1.safetensors) before the JSON changes
 * over.
 */
#ifndef ONSTAGE_RUNTIME_CHECKPOINT_H
#define ONSTAGE_RUNTIME_CHECKPOINT_H

#include "base/json.h"
#include "runtime/safetensors.h"

typedef struct ons_checkpoint_info {
    uint64_t step;     /* updates done */
    uint64_t epoch;    /* from 0 */
    uint64_t position; /* samples of that epoch that are used up */
    uint64_t seed;
    uint32_t threads;
    const char *optimizer;      /* "adamw" */
    const char *options_digest; /* of all that must not change between runs */
    const char *versions;       /* of the libraries that compute */
    const ons_json *more;       /* the caller's own object, or NULL */
} ons_checkpoint_info;

/* Makes the folder if it is missing, writes, and then removes older checkpoints beyond the newest `keep` (≥ 1), as well
 * as leftovers of writers that were killed. On failure the checkpoints that exist stay as they were. Texts may be NULL.
 */
ons_status *ons_checkpoint_write(const char *folder, const ons_checkpoint_info *info,
                                 const ons_safetensors_content *content, uint32_t keep);

typedef struct ons_checkpoint {
    ons_checkpoint_info info; /* texts are never NULL; they live in `json` */
    ons_safetensors tensors;  /* in the mapping */
    ons_mapping mapping;
    ons_json *json;
    uint32_t skipped;           /* newer ones that are broken ... */
    ons_status *skipped_reason; /* ... and why the newest of them is; owned */
} ons_checkpoint;

/* The complete checkpoint with the highest step. *found is false, without failure, where the folder is missing or holds
 * none at all; where all that it holds are broken, that is a failure. Changes nothing in the folder. */
ons_status *ons_checkpoint_open_newest(const char *folder, ons_checkpoint *checkpoint, bool *found);
void ons_checkpoint_close(ons_checkpoint *checkpoint); /* a zeroed one is fine */

/* Whether a run without --resume would mix its checkpoints with those of another: the folder holds one. */
bool ons_checkpoint_exists(const char *folder);

#endif
