/* A dataset: named fields (a model's inputs, and the target) with as many samples each, in files larger than memory or
 * in the caller's memory. Samples are converted to what the model wants as they are gathered.
 *
 *   file's sample ──element type──▶ ──(x - mean) / std──▶ ──shape with as many elements──▶ model's sample
 *
 * Thread-safe once it is set up. Gathering allocates nothing.
 */
#ifndef ONSTAGE_RUNTIME_DATA_DATASET_H
#define ONSTAGE_RUNTIME_DATA_DATASET_H

#include "runtime/data/array.h"
#include "runtime/data/tokens.h"

typedef struct ons_dataset ons_dataset;

enum { ONS_NO_FIELD = 0xffffffffu };

ons_status *ons_dataset_new(ons_dataset **dataset);
void ons_dataset_free(ons_dataset *dataset); /* NULL is fine */

/* ---- setting up. `name` (of the field) and `origin` (the file's path, for messages) are copied. All fields must have
 * as many samples. */

/* Takes over *array, also on failure. */
ons_status *ons_dataset_add_array(ons_dataset *dataset, const char *name, const char *origin, ons_array *array);

/* Takes over *tokens, also on failure. Two fields of int64 samples [N]; `target` NULL: inputs alone. */
ons_status *ons_dataset_add_tokens(ons_dataset *dataset, const char *input, const char *target, const char *origin,
                                   ons_tokens *tokens);

/* Refers to `data`, which outlives the dataset; type's dims[0] counts the samples. */
ons_status *ons_dataset_add_memory(ons_dataset *dataset, const char *name, const ons_type *type, const void *data);

/* A:B as a Python slice: either end may be missing or negative (from the end). Counts from the last selection. `option`
 * names the option in messages. Fails where nothing is left. */
ons_status *ons_dataset_select(ons_dataset *dataset, const char *option, const char *rows);

/* Leaves these samples out of the selection, from which nothing was left out before. */
ons_status *ons_dataset_leave_out(ons_dataset *dataset, const char *option, const char *rows);

/* Of the selection, the last `share` of its samples (above 0, below 1; rounded up), or those in front of them. Fails
 * where either would have no sample. */
ons_status *ons_dataset_split(ons_dataset *dataset, const char *option, double share, bool last);

/* `--normalize FIELD=MEAN,STD`: (x - MEAN) / STD in float, of what is in the file. With 2C numbers, C means and then C
 * deviations: per channel, the channel being the first dimension of the model's sample, or the last where only that
 * has the length C. */
ons_status *ons_dataset_normalize(ons_dataset *dataset, const char *name, const char *text);

/* ---- asking */

/* Counts the samples in the selection; 0 without fields. */
uint64_t ons_dataset_count(const ons_dataset *dataset);
/* Gives where a sample of the selection stands in the arrays. */
uint64_t ons_dataset_place(const ons_dataset *dataset, uint64_t row);
/* Counts the samples that are in both selections, of the same arrays; *first: the first of them, counted in the arrays.
 */
uint64_t ons_dataset_overlap(const ons_dataset *a, const ons_dataset *b, uint64_t *first);
/* Continues the hash with which samples were left out or split off; the same hash where none were. */
uint64_t ons_dataset_hash_left_out(const ons_dataset *dataset, uint64_t hash);
/* Continues the hash with some samples of each field, evenly spread: what tells other data from the same. */
ons_status *ons_dataset_hash_samples(ons_dataset *dataset, uint64_t *hash);
/* ONS_NO_FIELD where there is none. */
uint32_t ons_dataset_find(const ons_dataset *dataset, const char *name);
/* Type of one sample as it is in the file, without the sample axis; int64 [N] for tokens. */
ons_type ons_dataset_sample_type(const ons_dataset *dataset, uint32_t index);

/* ---- gathering. `wanted` is the type of one sample as the model takes it, without the batch axis. */

/* Fails with the reason and a remedy (ONS_INVALID_DATA) unless the field can be turned into `wanted`: as many elements,
 * in the same order of axes but for axes that are joined, split or of size 1. */
ons_status *ons_dataset_check(const ons_dataset *dataset, uint32_t index, const ons_type *wanted);

/* Copies samples rows[0..count), counted within the selection, one after the other to `destination`. */
ons_status *ons_dataset_gather(ons_dataset *dataset, uint32_t index, const uint64_t *rows, size_t count,
                               const ons_type *wanted, void *destination);

/* Counts the elements of these samples of an integer field that are not `ignore_index`: the targets that the mean of a
 * step's loss is over. */
ons_status *ons_dataset_count_targets(ons_dataset *dataset, uint32_t index, const uint64_t *rows, size_t count,
                                      int64_t ignore_index, uint64_t *counted);

/* How much a target of each class counts. */
typedef struct ons_target_weights {
    const double *of_class; /* NULL: 1 each */
    int64_t count;
} ons_target_weights;

/* Adds up the weights of these targets. One that is no class counts 1: the loss reports it. */
ons_status *ons_dataset_weigh_targets(ons_dataset *dataset, uint32_t index, const uint64_t *rows, size_t count,
                                      int64_t ignore_index, const ons_target_weights *weights, double *sum);

#endif
