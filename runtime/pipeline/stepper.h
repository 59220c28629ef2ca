/* Runs training steps of one device: which samples a step takes, in which micro-batches, and what comes out.
 *
 * Step k (from 1) of a run is a pure function of k: its epoch, its samples and their order, its random numbers. So a
 * resumed run needs no more than the number of the last step, and the stages of a pipeline need not tell each other
 * which samples they work on.
 */
#ifndef ONSTAGE_RUNTIME_PIPELINE_STEPPER_H
#define ONSTAGE_RUNTIME_PIPELINE_STEPPER_H

#include "runtime/data/feed.h"
#include "runtime/data/order.h"
#include "runtime/data/portions.h"
#include "runtime/pipeline/step_totals.h"
#include "runtime/pipeline/worker.h"

/* A program for micro-batches of `rows` samples. Of a pipeline, one stage's share; what other stages have is ONS_NONE.
 */
typedef struct ons_step_program {
    ons_program *program;
    const ons_stage_program *stage; /* where a worker runs it */
    size_t rows;
    const ons_value_id *inputs;  /* of each of the feed's fields */
    const ons_value_id *totals;  /* of each total; NULL: the program takes none */
    bool sums;                   /* its loss is a sum over samples: see ons_loss_parts */
    ons_value_id loss;           /* float32 or float64 scalar: of the whole step, once its last micro-batch has run */
    ons_value_id prediction;     /* ONS_NONE: nobody's */
    ons_value_id norm;           /* ONS_NONE: not computed */
    ons_value_id scale;          /* of the loss in this step; ONS_NONE: it is not scaled */
    const ons_value_id *squares; /* float64 scalars, one a trained weight; NULL: not computed */
} ons_step_program;

typedef struct ons_stepper_options {
    ons_worker *worker;
    const ons_schedule *schedule; /* of a whole step */
    uint32_t device;              /* of the schedule */
    ons_feed *feed;               /* holds the samples of so many micro-batches, and numbers of `batch` */
    ons_step_program
        programs[ONS_BATCH_VARIANTS]; /* program NULL: there are no such micro-batches, or the rest is dropped */
    size_t batch;                     /* samples of a step */
    uint32_t micro_batches;           /* of a step, of this rank, at most; where stages' are units, so many units */
    ons_rank_group rank_group;        /* the ranks that share a step's micro-batches, each with `micro_batches` */
    ons_reducer *reducer;             /* the worker's */
    ons_order order;
    uint32_t target_field; /* of the dataset; ONS_NO_FIELD: every sample counts as one target */
    ons_type target_sample;
    bool counts_classes; /* targets equal to ignore_index do not count */
    int64_t ignore_index;
    ons_target_weights class_weights; /* where counts_classes: what a target of each class counts */
    ons_step_totals *totals;          /* what the programs take of the whole step; NULL: nothing */
} ons_stepper_options;

/* Puts totals where a part of the program reads them, as ons_pipeline_pass.load does. */
void ons_step_program_load_totals(const ons_step_program *step_program, ons_worker *worker,
                                  const ons_step_totals *totals, int slot, ons_part part,
                                  const ons_part_place *part_place);

typedef struct ons_stepper ons_stepper;

ons_status *ons_stepper_new(const ons_stepper_options *options, ons_stepper **stepper);
void ons_stepper_free(ons_stepper *stepper); /* NULL is fine */

/* Give the steps of an epoch, and the samples that none of them takes. */
uint64_t ons_stepper_steps_per_epoch(const ons_stepper *stepper);
uint64_t ons_stepper_dropped(const ons_stepper *stepper);

typedef struct ons_step_result {
    double loss;  /* NaN: of another stage */
    double norm;  /* NaN where not computed, or of another stage */
    double scale; /* of the loss, for gradients in float16; NaN where not computed, or of another stage */
    size_t samples;
    bool stop;                    /* somebody has asked for an end after this step; not the stepper's to say */
    const ons_step_program *last; /* the stepper's program that ran last: it has the square sums */
} ons_step_result;

/* Of a step: what the schedule leaves of every learning rate, and that of all parameters without one of their own. */
typedef struct ons_rate {
    double base, share; /* their product is it */
} ons_rate;

/* `last_step`: no step comes after it, so nothing is fetched ahead. */
ons_status *ons_stepper_run(ons_stepper *stepper, uint64_t step, ons_rate rate, bool last_step,
                            ons_step_result *result);

/* Gives the place of the newest weights among their versions; 0 where updates are synchronous. `rewind`: they have been
 * copied to the first place. */
uint32_t ons_stepper_version(const ons_stepper *stepper);
void ons_stepper_rewind(ons_stepper *stepper);

#endif
