/* Runs inference programs over a dataset: mean loss, accuracy, outputs.
 *
 * Of a pipeline, each stage has an evaluator over its own share. All take the same batches in the same order and tell
 * each other nothing but what the programs send; the one that makes the loss, or the prediction, knows the result. */
#ifndef ONSTAGE_RUNTIME_PIPELINE_EVALUATOR_H
#define ONSTAGE_RUNTIME_PIPELINE_EVALUATOR_H

#include "runtime/pipeline/stepper.h"

/* Called after every batch, before the next one runs: reads outputs of its variant's program at their addresses. */
typedef ons_status *ons_batch_reader(void *context, ons_batch_variant variant, size_t first_sample, size_t samples);

/* What a batch, or several, add to the means. */
typedef struct ons_evaluation_sums {
    double loss, right;     /* NaN: of another stage, or another replica's batch */
    double targets, weight; /* targets that count, and the sum of their classes' weights */
} ons_evaluation_sums;

typedef struct ons_evaluator_options {
    ons_worker *worker;
    ons_feed *feed;
    /* Inference programs, of which none is for shorter batches; loss ONS_NONE without targets, or of another stage;
     * program NULL of the rest: it is dropped. */
    ons_step_program programs[ONS_BATCH_VARIANTS];
    uint64_t samples;
    ons_rank_group rank_group;    /* rank r of it takes batches r, r + rank_group.count, …; count 0: one */
    ons_evaluation_sums *batches; /* of several ranks: of each batch; those of this one are written. NULL: of one */
    uint32_t target_field;        /* of the dataset; ONS_NO_FIELD: every sample counts as one target */
    ons_type target_sample;
    bool counts_classes; /* targets equal to ignore_index do not count */
    int64_t ignore_index;
    ons_target_weights class_weights; /* where counts_classes: what a target of each class counts in the mean loss */
    /* Accuracy where counts_classes: the axis of the prediction's classes, and the targets' field of the feed. */
    uint32_t class_axis;
    uint32_t fed_target;
    ons_step_totals *totals; /* what the programs take of the whole dataset; NULL: nothing */
    ons_batch_reader *read;  /* may be NULL */
    void *read_context;
    bool (*progress)(void *context, int64_t done, int64_t samples); /* may be NULL; false: stop */
    void *progress_context;
} ons_evaluator_options;

typedef struct ons_evaluation_result {
    uint64_t samples, dropped;
    double loss;     /* mean over the targets that count; NaN without, or of another stage */
    double accuracy; /* NaN where the targets are no classes, or of another stage */
} ons_evaluation_result;

/* How many batches all replicas take. */
uint64_t ons_evaluator_batches(const ons_evaluator_options *options);

/* Of several replicas: the means, once all batches are there, added up in their order. */
ons_status *ons_evaluator_join(const ons_evaluator_options *options, ons_evaluation_result *result);

/* Fails where targets are classes and none of them counts: that has no mean. Of several replicas the means are NaN
 * until ons_evaluator_join. */
ons_status *ons_evaluator_run(const ons_evaluator_options *options, ons_evaluation_result *result);

#endif
