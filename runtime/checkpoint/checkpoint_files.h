/* Names of the files in a folder of checkpoints. Of checkpoint.c and checkpoint_read.c alone. */
#ifndef ONSTAGE_RUNTIME_CHECKPOINT_CHECKPOINT_FILES_H
#define ONSTAGE_RUNTIME_CHECKPOINT_CHECKPOINT_FILES_H

#include <stdbool.h>

#include "base/vector.h"
#include "runtime/checkpoint/checkpoint.h"

/* What the "format" of a JSON says. */
#define ONS_CHECKPOINT_FORMAT "onstage checkpoint 3"
/* Before it was written with a checksum of its own: of one data file, and of several. */
#define ONS_CHECKPOINT_FORMAT_1 "onstage checkpoint 1"
#define ONS_CHECKPOINT_FORMAT_2 "onstage checkpoint 2"

/* Stands before the last member of a JSON: a number, the CRC-32 of all bytes of the file before this text. */
#define ONS_CHECKPOINT_SEAL ",\n\t\"checksum\":\t"

typedef ONS_VECTOR(uint64_t) ons_step_vector;

void ons_checkpoint_json_name(uint64_t step, char name[static ONS_SHARD_NAME_BYTES]);
void ons_checkpoint_data_name(const ons_shard_place *place, char name[static ONS_SHARD_NAME_BYTES]);
/* Gives the name of a data file until a checkpoint has taken it; it is a data name, too. */
void ons_checkpoint_offered_name(const char *data, char name[static ONS_SHARD_NAME_BYTES]);

/* Tests whether `name` is that of a checkpoint's JSON, exactly as it is spelled here. */
bool ons_checkpoint_parse_json_name(const char *name, uint64_t *step);
bool ons_checkpoint_is_data(const char *name);
/* Removes FOLDER/NAME where that was left behind by a writer of a checkpoint that is gone. */
void ons_checkpoint_remove_leftover(const char *folder, const char *name);

/* FOLDER/NAME on the heap; NULL: no memory. */
char *ons_checkpoint_join(const char *folder, const char *name);

/* Lists the steps of all checkpoints, the highest first; none where the folder is missing. */
ons_status *ons_checkpoint_list(const char *folder, ons_step_vector *steps);

/* Finds the lowest copy of which the folder has no data file yet. */
ons_status *ons_checkpoint_find_copy(const char *folder, uint64_t step, uint32_t *copy);

#endif
