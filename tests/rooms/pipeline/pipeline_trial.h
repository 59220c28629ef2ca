/* A run of pipeline_run.h as it is made: what pipeline_run.c and pipeline_cut.c share. */
#ifndef ONSTAGE_TESTS_ROOMS_PIPELINE_PIPELINE_TRIAL_H
#define ONSTAGE_TESTS_ROOMS_PIPELINE_PIPELINE_TRIAL_H

#include "engine/plan/lowering.h"
#include "engine/stages/local_stages.h"
#include "planner/schedule/device_groups.h"
#include "planner/schedule/lanes.h"
#include "tests/rooms/graph/cut_case.h"
#include "tests/rooms/pipeline/delayed_trajectory.h"
#include "tests/rooms/pipeline/grouped.h"
#include "tests/rooms/pipeline/pipeline_run.h"
#include "tests/rooms/pipeline/replayed.h"

typedef struct pipeline_trial {
    const pipeline_setting *s;
    pipeline_record *r;
    ons_arena *arena;
    ons_config *config;
    ons_model *model;
    ons_batching batching;
    ons_dataset_graphs dataset_graphs, validation; /* there is none of the latter */
    cut_case choice;                               /* of the graph for whole micro-batches */
    ons_map stage_of_name;                         /* of its nodes */
    ons_pipeline pipeline;
    ons_lowering lowering; /* of the setting's plan */
    ons_schedule_lanes lanes;
    ons_schedule schedule; /* of the lanes */
    ons_device_groups groups;
    bool *apart;                /* of each stage */
    ons_transport **transports; /* of each device; NULL: there is one */
    ons_local_stages *local_stages;
    delayed_trajectory *delayed; /* instead of the local stages */
    grouped *grouped;            /* instead of the local stages */
    replayed *replayed;          /* instead of the local stages */
} pipeline_trial;

static inline bool pipeline_trial_repeats(const pipeline_trial *t) {
    return ons_batching_micro_batches(&t->batching) > 1 && !ons_pipeline_is_asynchronous(&t->pipeline);
}

/* pipeline_cut.c: makes the schedule and cuts the training graphs, as the setting's plan says or by its seed. */
ons_status *pipeline_trial_cut(pipeline_trial *t);

#endif
