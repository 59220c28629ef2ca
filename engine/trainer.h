/* What a trainer consists of; its functions are spread over trainer*.c by purpose. */
#ifndef ONSTAGE_ENGINE_TRAINER_H
#define ONSTAGE_ENGINE_TRAINER_H

#include "engine/stage_graph.h"
#include "runtime/checkpoint.h"
#include "runtime/evaluator.h"
#include "runtime/log_json.h"
#include "runtime/tensorboard.h"
#include "runtime/trace.h"

/* A dataset with the graphs and programs that run over it: for whole (micro-)batches, and for what is left at the end.
 */
typedef struct ons_course {
    ons_dataset *dataset;
    ons_feed feed;
    ons_stage_graph full, rest;
    ons_unit full_unit, rest_unit;
    uint32_t target_field; /* of the feed */
    bool counts_classes;
} ons_course;

/* Builds graphs and programs for `rows` samples and for the `rest` (0: none), and adds them to the machine. */
typedef struct ons_course_options {
    const ons_model *model;
    const ons_config *config;
    ons_machine *machine;
    int64_t rows, rest;
    size_t batch; /* samples that the feed holds */
    bool training, repeats;
} ons_course_options;
ons_status *ons_course_build(const ons_course_options *options, ons_course *course); /* course->dataset is set */
void ons_course_free(ons_course *course); /* after the machine; a zeroed one is fine */
/* The course's evaluator, but for reader and progress. */
ons_evaluator_options ons_course_evaluator(const ons_course *course, ons_machine *machine, const ons_config *config);

/* A cap that does not hold is refused with what would be needed. */
ons_status *ons_check_memory_cap(const ons_machine *machine, int64_t cap);

struct ons_trainer {
    ons_model *model;
    ons_config *config; /* held */
    ons_arena *arena;
    ons_machine *machine;
    ons_batching batching;
    ons_course training, validation; /* validation.dataset NULL: none */
    ons_stepper *stepper;
    ons_rate_schedule schedule;
    int threads;
    int64_t step, steps, steps_per_epoch, validate_every;
    uint64_t digest; /* of all that must stay the same for a resumed run to go on as before */
    /* watching */
    ons_log_json *log;
    ons_tensorboard *board;
    ons_trace *trace;
    ons_trace_track *track;
    double seconds_a_step; /* running mean; 0: no step yet */
    char *notes;
};

/* trainer_state.c: checkpoints and export */
ons_status *ons_trainer_resume(ons_trainer *trainer, bool *resumed);

/* trainer_watch.c: logs */
ons_status *ons_trainer_open_logs(ons_trainer *trainer, bool resumed);
ons_status *ons_trainer_log_step(ons_trainer *trainer, const ons_step_report *report, const ons_unit *unit);
void ons_trainer_observe(void *trainer, ons_node_id node, int64_t start, int64_t end);
void ons_trainer_close_logs(ons_trainer *trainer);
/* Bytes of this process in memory. */
int64_t ons_resident_bytes(void);

#endif
