/* Which axis of each input counts samples, and which inputs count none.
 *
 * The engine reads, shuffles and divides along axis 0 of every input. Here the imported graph is made so: an input
 * whose samples stand along another axis is taken with that axis in front, through a Transpose, and so are the outputs
 * that the batch reaches along another axis; an input that counts no samples (the edges of a graph, a temperature)
 * becomes a constant with the array that it is fed.
 *
 * What is known, in this order: --batch-axis NAME=N and --input NAME=FILE,once; an input without axes counts none;
 * where all inputs that have a symbol at axis 0 have the same, an input with a number there has its samples where the
 * symbol is, or counts none. A name is no evidence, nor is a size. */
#ifndef ONSTAGE_ENGINE_MODEL_SAMPLE_AXES_H
#define ONSTAGE_ENGINE_MODEL_SAMPLE_AXES_H

#include "engine/model/batching.h"
#include "engine/model/data.h"

/* Changes the model's graph, fresh from the import. Refuses what a recurrent node proves wrong: samples along the axis
 * that it takes for steps of time. */
ons_status *ons_place_samples(ons_model *model, const ons_config *config);

/* The array of --input, --val-input or the caller with its samples in front. */
ons_status *ons_put_samples_first(const char *name, uint32_t axis, ons_array *array);

/* Fails where an input that is fed once holds places in the batch (the edges of a graph), unless each step takes all
 * `samples` at once, in the order of the files. `shuffles`: the samples of this set may come in another order. */
ons_status *ons_check_fed_once(const ons_model *model, const ons_config *config, const ons_dataset *dataset,
                               const ons_batching *batching, bool shuffles);

/* What `check` says of an input: whether it counts samples, and along which axis of the file. */
typedef struct ons_input_samples {
    bool once;
    uint32_t axis;
} ons_input_samples;
ons_input_samples ons_input_samples_of(const ons_model *model, size_t input);

#endif
