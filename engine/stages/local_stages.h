/* The stages of a run that are in this process: each with its device and arena, its programs, the worker that runs
 * them. */
#ifndef ONSTAGE_ENGINE_STAGES_LOCAL_STAGES_H
#define ONSTAGE_ENGINE_STAGES_LOCAL_STAGES_H

#include <stdatomic.h>

#include "engine/stages/dataset_graphs.h"
#include "planner/schedule/device_groups.h"
#include "planner/schedule/lanes.h"

/* What a stage has done in training steps, but for the first one, which warms up. */
typedef struct ons_local_stage_work {
    uint64_t steps, samples;
    double seconds;        /* from the beginning of a step to its end */
    double update_seconds; /* of these seconds, those in updates */
    double busy_seconds;   /* in all other nodes */
    int64_t swapped_bytes; /* copied to the host */
} ons_local_stage_work;

typedef struct ons_local_stage {
    uint32_t device;  /* of the schedule, in its replica of the pipeline */
    uint32_t stage;   /* number of the device in the cut: of its only stage, mostly */
    uint32_t replica; /* of the pipeline */
    ons_rank_group
        rank_group; /* that its sums are taken over: the replicas of the device, or the copies of the stage */
    ons_device_context *device_context;
    ons_turn_end turns;       /* where another stage here is on the same device; turns.turns NULL: none is */
    ons_transport *world;     /* of the stages of all replicas; NULL: the only stage */
    ons_transport *transport; /* of the stages of this replica; NULL: the only stage */
    ons_share training, validation;
    ons_reduction reduction;
    ons_reducer *reducer; /* NULL: it is alone in its ring */
    ons_nccl *nccl;       /* NULL: messages go another way */
    ons_worker *worker;
    ons_stepper *stepper;
    /* the step that runs, or the last one: the driver's */
    uint64_t step;
    ons_rate rate;
    bool last_step;
    ons_step_result result;
    bool warm;
    ons_local_stage_work work;
    ons_evaluator_options evaluator;
    ons_evaluation_result evaluation; /* of the last validation */
    ons_status *status;
} ons_local_stage;

/* What all stages of a run have in common. */
typedef struct ons_local_stages_options {
    const ons_model *model;
    const ons_config *config;
    const ons_dataset_graphs *training, *validation; /* cut; validation->dataset NULL: none */
    ons_pipeline pipeline;
    const ons_schedule *schedule;    /* of a whole step */
    const ons_schedule_lanes *lanes; /* whose schedule that is; NULL: each of its devices has one worker */
    ons_batching batching;
    int threads;                      /* of each stage */
    int64_t cap;                      /* of each stage's device; 0: none */
    int64_t capacity;                 /* that the plan is for; 0: none, or there is no plan */
    uint32_t first, count;            /* the ranks in this process; the devices of a replica follow each other */
    bool nccl;                        /* each stage has a GPU of its own; else those of a process share one */
    int gpu;                          /* of the first stage; of the others with NCCL those that follow */
    ons_transport *const *transports; /* of each rank in this process; they outlive the local stages. NULL: one stage */
    ons_trace *trace;
    const atomic_bool *stop_requested; /* of this process, looked at after each step; NULL: nobody asks */
} ons_local_stages_options;

/* Gives the ring of a group's copy: its copies, or the replicas of the whole pipeline. */
static inline ons_rank_group ons_rank_group_of(const ons_device_group *group, uint32_t copy, uint32_t replica,
                                               uint32_t replicas) {
    return group->copies > 1 ? (ons_rank_group){copy, group->copies, true} : (ons_rank_group){replica, replicas, false};
}

/* Gives which slice of a stage's updates a rank of the ring makes. */
static inline ons_update_shard ons_config_update_shard(const ons_config *config, const ons_rank_group *rank_group) {
    return config->shard_optimizer ? (ons_update_shard){rank_group->own, rank_group->count} : (ons_update_shard){0, 1};
}

/* Local stages are those that this process runs: all of a run (threads), or one (mpi). */
typedef struct ons_local_stages ons_local_stages;

/* Prepares programs; nothing is taken on the devices yet. */
ons_status *ons_local_stages_new(const ons_local_stages_options *options, ons_local_stages **local_stages);
void ons_local_stages_free(ons_local_stages *local_stages); /* NULL is fine */

/* Gives what the devices of the schedule hold; as long as the local stages live. */
const ons_device_groups *ons_local_stages_groups(const ons_local_stages *local_stages);

uint32_t ons_local_stages_count(const ons_local_stages *local_stages);
ons_local_stage *ons_local_stages_get(const ons_local_stages *local_stages, uint32_t index);

/* Takes the arenas and starts the workers. */
ons_status *ons_local_stages_start(ons_local_stages *local_stages);

/* One training step of all stages. *result: with what this process has of it. */
ons_status *ons_local_stages_step(ons_local_stages *local_stages, uint64_t step, ons_rate rate, bool last_step,
                                  ons_step_result *result);

/* The mean over the validation set, by all stages. *result: with what this process has of it. */
ons_status *ons_local_stages_evaluate(ons_local_stages *local_stages, ons_evaluation_result *result);

/* Where updates are asynchronous, the newest version of each weight comes to the first place, where all look for it
 * that read weights between steps. */
ons_status *ons_local_stages_settle_versions(ons_local_stages *local_stages);

/* The contents of a persistent value by name, at the first stage in this process that has it; *contents NULL where
 * there is none. Where the host cannot access the device's memory they lie in *copy until its next use. `type` may be
 * NULL. */
ons_status *ons_local_stages_read(ons_local_stages *local_stages, const char *name, ons_type *type, ons_host_copy *copy,
                                  const void **contents);
/* A square sum of the last step, where somebody reads them; NaN where another process has it. */
ons_status *ons_local_stages_square(const ons_local_stages *local_stages, uint32_t index, double *square);

/* What a device, of this or another process, has done until the end of the last step. */
const ons_local_stage_work *ons_local_stages_work(const ons_local_stages *local_stages, uint32_t device);

/* Largest and sum over the stages in this process. */
typedef struct ons_local_stages_memory {
    ons_device_context_memory sum;
    int64_t largest; /* total of one stage */
    int64_t used;    /* bytes really taken, of all */
} ons_local_stages_memory;
ons_status *ons_local_stages_get_memory(const ons_local_stages *local_stages, ons_local_stages_memory *memory);

#endif
