/* What the local stages consist of: shared by local_stages.c (their life), local_stages_start.c and
 * local_stages_step.c. */
#ifndef ONSTAGE_ENGINE_STAGES_LOCAL_STAGES_STATE_H
#define ONSTAGE_ENGINE_STAGES_LOCAL_STAGES_STATE_H

#include "engine/stages/local_stages.h"

/* What a device, of this or another process, has of a step. */
typedef struct ons_local_stage_record {
    bool has_loss, has_norm, stop;
    double loss, norm, scale;
    int64_t used_bytes;
    ons_local_stage_work work;
} ons_local_stage_record;

struct ons_local_stages {
    ons_local_stages_options o;
    ons_arena *arena;
    ons_local_stage *stages;
    ons_device *host;     /* threads that drive the stages: one puts work on its streams and waits for it */
    ons_links *links;     /* between the stages, where their devices share a GPU; NULL: the transport serves */
    ons_stream **drivers; /* of each stage; NULL: the caller drives the only one */
    ons_event **done;
    ons_device_groups groups;
    uint32_t *sizes;                 /* [device]: units of a step in a micro-batch; NULL: one everywhere */
    ons_local_stage_record *records; /* of all stages */
    ons_evaluation_result *evaluations;
    /* Of several replicas: sums of each batch of a validation, of this process and of each rank. */
    ons_evaluation_sums *batches, *all_batches;
    size_t batch_count;
    double *squares, *all_squares; /* of the last step, of all stages; NULL: all are in this process, or nobody asks */
    int64_t used_bytes;            /* of all stages, where some are elsewhere; 0: not known yet */
};

/* Devices of all replicas. */
static inline uint32_t ons_local_stages_world(const ons_local_stages *local_stages) {
    return local_stages->o.schedule->devices * (uint32_t)local_stages->o.batching.replicas;
}

static inline bool ons_local_stages_are_all_here(const ons_local_stages *local_stages) {
    return local_stages->o.count == ons_local_stages_world(local_stages);
}

/* Some devices have summed over others what the host reads of them. */
static inline bool ons_local_stages_have_rank_groups(const ons_local_stages *local_stages) {
    return local_stages->o.batching.replicas > 1 || local_stages->groups.most_copies > 1;
}

static inline bool ons_local_stages_read_squares(const ons_local_stages *local_stages) {
    return local_stages->o.training->graphs[ONS_WHOLE].squares != NULL &&
           !local_stages->o.training->graphs[ONS_WHOLE].squares_idle;
}

/* Units of a step in the micro-batches of one rank, at most. */
static inline uint32_t ons_local_stage_units(const ons_local_stages *local_stages, const ons_local_stage *stage) {
    return (uint32_t)local_stages->o.batching.micro_batches / (stage->rank_group.in_turn ? stage->rank_group.count : 1);
}

/* local_stages_step.c */

/* Runs a task of all stages beside each other. */
void ons_local_stages_drive(ons_local_stages *local_stages, ons_task *task);
/* Ends, where a stage has failed, what the others do, too. */
void ons_local_stage_share_failure(ons_local_stage *stage);
/* Gives the first failure of the last task. */
ons_status *ons_local_stages_collect_failures(ons_local_stages *local_stages);

#endif
