/* Runs an inference program over a dataset: mean loss, accuracy, outputs. */
#ifndef ONSTAGE_RUNTIME_EVALUATOR_H
#define ONSTAGE_RUNTIME_EVALUATOR_H

#include "runtime/stepper.h"

/* Called with the program after every batch, before the next one runs: reads outputs at their addresses. */
typedef ons_status *ons_batch_reader(void *context, const ons_unit *unit, size_t first_sample, size_t samples);

typedef struct ons_evaluator_options {
    ons_machine *machine;
    ons_feed *feed;
    ons_unit full, rest; /* inference programs; loss ONS_NONE without targets; rest.program NULL: the rest is dropped */
    uint64_t samples;
    uint32_t target_field; /* of the feed; ONS_NO_FIELD: none */
    bool counts_classes;
    int64_t ignore_index;
    /* Accuracy where counts_classes: the prediction's value in each unit and the axis of its classes. */
    ons_value_id full_prediction, rest_prediction;
    uint32_t class_axis;
    ons_batch_reader *read; /* may be NULL */
    void *read_context;
    bool (*progress)(void *context, int64_t done, int64_t samples); /* may be NULL; false: stop */
    void *progress_context;
} ons_evaluator_options;

typedef struct ons_evaluation_result {
    uint64_t samples, dropped;
    double loss;     /* mean over the targets that count; NaN without */
    double accuracy; /* NaN where the targets are no classes */
} ons_evaluation_result;

ons_status *ons_evaluator_run(const ons_evaluator_options *options, ons_evaluation_result *result);

#endif
