/* The arrays of a configuration as a dataset, and how a model's inputs are fed from it. */
#ifndef ONSTAGE_ENGINE_MODEL_DATA_H
#define ONSTAGE_ENGINE_MODEL_DATA_H

#include "engine/model/model.h"
#include "graph/passes/bind.h"
#include "runtime/data/dataset.h"

/* Opens the training set, without the samples that it is validated on (unless --rows asks for them), or the validation
 * set (*dataset NULL: there is none), or all that an evaluation takes. Fields are named after the model's inputs, and
 * "target" (ONS_TARGET_FIELD). */
#define ONS_TARGET_FIELD "\ntarget" /* no input can have this name */
ons_status *ons_open_training_data(const ons_model *model, const ons_config *config, ons_dataset **dataset);
ons_status *ons_open_validation_data(const ons_model *model, const ons_config *config, ons_dataset **dataset);
ons_status *ons_open_evaluation_data(const ons_model *model, const ons_config *config, ons_dataset **dataset);

/* Whether --val-rows or --val-split take samples of the arrays that are trained on. */
bool ons_validates_on_training_arrays(const ons_config *config);

/* Whether --val-rows indexes validation files all of which are files that are trained on, under any path. */
bool ons_validates_on_training_files(const ons_config *config);

/* Of a dimension with a symbol that nobody gave a size: enough to look at a model's structure. */
enum { ONS_ASSUMED_DIMENSION = 64 };

/* Shapes of the model's inputs for `rows` samples from the dataset (NULL: none), plus the --dim options: `bindings` in
 * `arena`. */
ons_status *ons_make_bindings(const ons_model *model, const ons_config *config, const ons_dataset *dataset,
                              int64_t rows, ons_arena *arena, ons_binding **bindings, size_t *count);

#endif
