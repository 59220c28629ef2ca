/* A model brought to the runtime in the form in which its file states it, with the inputs of one data set. */
#ifndef ONSTAGE_TESTS_AGREEMENT_BACKEND_TRIAL_H
#define ONSTAGE_TESTS_AGREEMENT_BACKEND_TRIAL_H

#include "engine/model/model.h"
#include "runtime/program/device_context.h"
#include "tests/agreement/backend/data_file.h"

typedef struct trial {
    ons_model *model;
    ons_graph *graph;
    ons_device_context *device_context;
    ons_program *program;
    bool *constant;       /* of each input of the data set: whether it is a constant of the graph */
    ons_value_id *inputs; /* of each of the data set's; ONS_NONE where it is a constant of the graph */
    ons_value_id *outputs;
    const char **names; /* of each input of the data set, in the model */
    uint32_t input_count, output_count;
    bool all_bound; /* every input is a constant */
    ons_arena *arena;
} trial;

/* Imports and binds. Inputs whose contents inference asks for, and no others, become constants. Free it in any case;
 * `set` must outlive it. */
ons_status *trial_bind(trial *t, const char *model_path, const data_set *set);

/* Binds, fuses, lays out, prepares and takes memory. */
ons_status *trial_prepare(trial *t, const char *model_path, const data_set *set);

/* Copies the inputs and runs the program. */
ons_status *trial_run(trial *t, const data_set *set);

/* Output `index` in ONNX's order, after the run. */
ons_tensor trial_output(const trial *t, uint32_t index);

void trial_free(trial *t);

#endif
