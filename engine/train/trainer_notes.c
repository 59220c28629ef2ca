/* What a run notes before its first step about its data, outputs and targets. */
#include <inttypes.h>
#include <stdlib.h>

#include "engine/model/notes.h"
#include "engine/train/trainer.h"
#include "runtime/data/order.h"

/* Samples that no step takes, since a layer would normalise a single value. */
static ons_status *note_left_out(ons_trainer *t, int64_t samples) {
    const ons_lone_values *lone = &t->training.left_out;
    if (lone->count == 0) return NULL;
    ONS_TRY(ons_note(&t->assumptions, t->arena, ons_note_lone_values_left_out, lone->count, lone->first, samples,
                     samples == 1 ? "" : "s", samples == 1 ? "it is" : "they are",
                     (int64_t)ons_dataset_count(t->training.dataset)));
    return ons_assumptions_check(t->config, &t->assumptions);
}

/* Which output the loss is taken of, where another one fits the targets as well. */
static ons_status *note_other_outputs(ons_trainer *t) {
    const ons_model_graph *whole = &t->training.graphs[ONS_WHOLE];
    if (whole->other_outputs.count == 0) return NULL;
    ONS_TRY(ons_note(&t->assumptions, t->arena, ons_note_other_outputs, whole->prediction_name,
                     whole->other_outputs.count, whole->other_outputs.count == 1 ? "" : "s", whole->other_outputs.first,
                     whole->prediction_name, whole->other_outputs.first));
    return ons_assumptions_check(t->config, &t->assumptions);
}

/* A target of a sample that lies outside of [0, 1]. */
static ons_status *look_at_sample(ons_trainer *t, uint32_t field, const ons_type *sample, uint64_t row, void *buffer,
                                  bool *outside, double *value) {
    size_t index, count = (size_t)ons_shape_elements(&sample->shape);
    ONS_TRY(ons_dataset_gather(t->training.dataset, field, &row, 1, sample, buffer));
    *outside =
        ons_find_outside(sample->dtype, buffer, count, -ONS_BOUNDS_ROUNDING, 1 + ONS_BOUNDS_ROUNDING, &index, value);
    return NULL;
}

typedef struct outside {
    uint64_t count, first; /* samples with such targets; the first of them, as it stands in the arrays */
    double value;
} outside;

/* Among the samples of the first step. */
static ons_status *look_at_first_batch(ons_trainer *t, uint32_t field, const ons_type *sample, outside *found) {
    const ons_order order = {ons_dataset_count(t->training.dataset), (uint64_t)t->config->seed, t->config->shuffle};
    size_t count = (uint64_t)t->batching.batch < order.count ? (size_t)t->batching.batch : (size_t)order.count;
    uint64_t *rows;
    void *buffer;
    ONS_NEW(rows, t->arena, count);
    buffer = malloc((size_t)ons_type_dense_bytes(sample) + 1);
    if (buffer == NULL) return ons_status_out_of_memory();
    ons_order_rows(&order, 0, 0, count, rows);
    ons_status *status = NULL;
    for (size_t i = 0; status == NULL && i < count; ++i) {
        bool is_outside;
        double value;
        status = look_at_sample(t, field, sample, rows[i], buffer, &is_outside, &value);
        if (status == NULL && is_outside && found->count++ == 0) {
            found->value = value;
            found->first = ons_dataset_place(t->training.dataset, rows[i]);
        }
    }
    free(buffer);
    return status;
}

/* Binary cross entropy is of targets from 0 to 1: others are noted where the first batch has them, and refused where a
 * later one has the first of them. */
static ons_status *note_targets(ons_trainer *t) {
    ons_type sample;
    outside found = {0};
    if ((ons_role)t->config->loss.value != ONS_ROLE_BINARY_CROSS_ENTROPY) return NULL;
    uint32_t field = ons_dataset_graphs_target(&t->training, &sample);
    if (field == ONS_NO_FIELD) return NULL;
    ONS_TRY(look_at_first_batch(t, field, &sample, &found));
    t->training.bounds_targets = found.count == 0;
    if (found.count == 0) return NULL;
    ONS_TRY(ons_note(&t->assumptions, t->arena, ons_note_targets_outside, t->config->loss.text, found.count,
                     found.count == 1 ? "sample" : "samples", found.count == 1 ? "has" : "have", found.first,
                     found.value));
    return ons_assumptions_check(t->config, &t->assumptions);
}

ons_status *ons_trainer_tell_training(ons_trainer *t, int64_t rest) {
    ONS_TRY(ons_trainer_check_labels(t, &t->training));
    ONS_TRY(note_left_out(t, rest));
    ONS_TRY(note_other_outputs(t));
    return note_targets(t);
}

/* Samples that are trained on and validated on, because --rows asks for them, or since the files are the same. */
ons_status *ons_trainer_tell_validation(ons_trainer *t) {
    uint64_t first, count;
    t->validation.bounds_targets = t->training.bounds_targets;
    ONS_TRY(ons_trainer_check_labels(t, &t->validation));
    bool files = ons_validates_on_training_files(t->config);
    if (!files && !ons_validates_on_training_arrays(t->config)) return NULL;
    count = ons_dataset_overlap(t->training.dataset, t->validation.dataset, &first);
    if (count == 0) return NULL;
    uint64_t all = ons_dataset_count(t->validation.dataset);
    bool tokens = t->config->val_tokens != NULL;
    const char *option = tokens ? "val-tokens" : "val-input", *trained = tokens ? "tokens" : "input";
    if (files)
        ONS_TRY(ons_note(&t->assumptions, t->arena, ons_note_trained_validation_file, count, all, t->config->val_rows,
                         first, option, trained, option));
    else
        ONS_TRY(ons_note(&t->assumptions, t->arena, ons_note_trained_validation_rows, count, all, t->config->val_rows,
                         first, t->config->rows));
    return ons_assumptions_check(t->config, &t->assumptions);
}
