/* The arrays of a configuration as a dataset, and how a model's inputs are fed from it. */
#ifndef ONSTAGE_ENGINE_DATA_H
#define ONSTAGE_ENGINE_DATA_H

#include "engine/model.h"
#include "runtime/dataset.h"

/* Opens the training set, or the validation set (*dataset NULL: there is none). Fields are named after the model's
 * inputs, and "target" (ONS_TARGET_FIELD). */
#define ONS_TARGET_FIELD "\ntarget" /* no input can have this name */
ons_status *ons_open_training_data(const ons_model *model, const ons_config *config, ons_dataset **dataset);
ons_status *ons_open_validation_data(const ons_model *model, const ons_config *config, ons_dataset **dataset);

/* How batches are cut. */
typedef struct ons_batching {
    int64_t batch;         /* samples of a step */
    int64_t micro_batches; /* of a full step */
    int64_t rows;          /* samples of a micro-batch, the first one at least: see runtime/portions.h */
    bool fixed;            /* the model takes no other number */
} ons_batching;
static inline bool ons_batching_is_uneven(const ons_batching *b) { return b->batch % b->micro_batches != 0; }
ons_status *ons_choose_batching(const ons_model *model, const ons_config *config, ons_batching *batching);

/* Fails where there are fewer samples than the batch that the model was exported for. `kind` says whose data it is
 * ("training data"), `options` which options could give more. */
ons_status *ons_check_samples(const ons_batching *batching, uint64_t samples, const char *kind, const char *options);

/* Shapes of the model's inputs for `rows` samples from the dataset (NULL: none), plus the --dim options: `bindings` in
 * `arena`. */
ons_status *ons_make_bindings(const ons_model *model, const ons_config *config, const ons_dataset *dataset,
                              int64_t rows, ons_arena *arena, ons_binding **bindings, size_t *count);

#endif
