/* One stage of a run, in this process: its device with the arena, its programs, the worker that runs them. */
#ifndef ONSTAGE_ENGINE_CREW_H
#define ONSTAGE_ENGINE_CREW_H

#include <stdatomic.h>

#include "engine/course.h"

/* What a stage has done in training steps, but for the first one, which warms up. */
typedef struct ons_rank_work {
    uint64_t steps, samples;
    double seconds;        /* from the beginning of a step to its end */
    double update_seconds; /* of them, in updates */
    double busy_seconds;   /* in all other nodes */
    int64_t swapped_bytes; /* copied to the host */
} ons_rank_work;

typedef struct ons_rank {
    uint32_t stage;   /* number of the device in its replica: of its only stage, mostly */
    uint32_t replica; /* of the pipeline */
    ons_machine *machine;
    ons_transport *world;     /* of the stages of all replicas; NULL: the only stage */
    ons_transport *transport; /* of those of this replica; NULL likewise */
    ons_share training, validation;
    ons_reduction reduction;
    ons_reducer *reducer; /* NULL: there is one replica */
    ons_nccl *nccl;       /* NULL: messages go another way */
    ons_worker *worker;
    ons_stepper *stepper;
    /* the step that runs, or the last one: the driver's */
    uint64_t step;
    ons_rate rate;
    bool last_step;
    ons_step_result result;
    bool warm;
    ons_rank_work work;
    ons_evaluator_options evaluator;
    ons_evaluation_result evaluation; /* of the last validation */
    ons_status *status;
} ons_rank;

/* What all stages of a run have in common. */
typedef struct ons_crew_options {
    const ons_model *model;
    const ons_config *config;
    const ons_course *training, *validation; /* cut; validation->dataset NULL: none */
    ons_pipeline pipeline;
    const ons_schedule *schedule; /* of a whole step */
    ons_batching batching;
    int threads;                      /* of each stage */
    int64_t cap;                      /* of each stage's device; 0: none */
    uint32_t first, count;            /* the ranks in this process; the devices of a replica follow each other */
    bool nccl;                        /* each stage has a GPU of its own; else those of a process share one */
    int gpu;                          /* of the first stage; of the others with NCCL those that follow */
    ons_transport *const *transports; /* of each rank in this process; they outlive the crew. NULL: one stage */
    ons_trace *trace;
    const atomic_bool *stop_requested; /* of this process, looked at after each step; NULL: nobody asks */
} ons_crew_options;

/* The stages of a run that this process has: all of them (threads), or one (mpi). */
typedef struct ons_crew ons_crew;

/* Prepares programs; nothing is taken on the devices yet. */
ons_status *ons_crew_new(const ons_crew_options *options, ons_crew **crew);
void ons_crew_free(ons_crew *crew); /* NULL is fine */

uint32_t ons_crew_count(const ons_crew *crew);
ons_rank *ons_crew_rank(const ons_crew *crew, uint32_t index);

/* Takes the arenas and starts the workers. */
ons_status *ons_crew_start(ons_crew *crew);

/* One training step of all stages. *result: with what this process has of it. */
ons_status *ons_crew_step(ons_crew *crew, uint64_t step, ons_rate rate, bool last_step, ons_step_result *result);

/* The mean over the validation set, by all stages. *result: with what this process has of it. */
ons_status *ons_crew_evaluate(ons_crew *crew, ons_evaluation_result *result);

/* Where updates are asynchronous, the newest version of each weight comes to the first place, where all look for it
 * that read weights between steps. */
ons_status *ons_crew_settle_versions(ons_crew *crew);

/* The contents of a persistent value by name, at the first stage in this process that has it; *contents NULL where
 * there is none. Where the host cannot access the device's memory they lie in *copy until its next use. `type` may be
 * NULL. */
ons_status *ons_crew_look(ons_crew *crew, const char *name, ons_type *type, ons_host_copy *copy, const void **contents);
/* A square sum of the last step, where somebody reads them; NaN where another process has it. */
ons_status *ons_crew_square(const ons_crew *crew, uint32_t index, double *square);

/* What a stage, of this or another process, has done until the end of the last step. */
const ons_rank_work *ons_crew_work(const ons_crew *crew, uint32_t stage);

/* Largest and sum over the stages in this process. */
typedef struct ons_crew_memory {
    ons_machine_memory sum;
    int64_t largest; /* total of one stage */
    int64_t used;    /* bytes really taken, of all */
} ons_crew_memory;
ons_status *ons_crew_get_memory(const ons_crew *crew, ons_crew_memory *memory);

#endif
