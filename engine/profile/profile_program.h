/* What a profile runs: the program of a training run of one stage, with updates where that has them. */
#ifndef ONSTAGE_ENGINE_PROFILE_PROFILE_PROGRAM_H
#define ONSTAGE_ENGINE_PROFILE_PROFILE_PROGRAM_H

#include "engine/stages/dataset_graphs.h"

typedef struct ons_profile_program {
    ons_dataset_graphs dataset_graphs; /* cut, as one stage; its dataset NULL: made-up data */
    ons_share trained; /* as training has it: what nobody reads is not computed (ons_model_graph.squares_idle) */
    ons_share
        complete; /* of the same graph: every node runs, so that each can be measured; zeroed where all do anyway */
} ons_profile_program;

typedef struct ons_profile_program_options {
    const ons_model *model;
    const ons_config *config;
    ons_pipeline pipeline; /* of the run: says how updates stand to micro-batches */
    int64_t rows;          /* of a micro-batch */
    uint32_t slots;        /* micro-batches whose forward parts come before the first backward part */
} ons_profile_program_options;

/* Makes graph and cut; `program->dataset_graphs.dataset` is set. Free it also after a failure. */
ons_status *ons_profile_program_build(const ons_profile_program_options *options, ons_profile_program *program);
/* Adds the programs to the device context. */
ons_status *ons_profile_program_add(const ons_profile_program_options *options, ons_device_context *device_context,
                                    ons_profile_program *program);
void ons_profile_program_free(ons_profile_program *program); /* after the device context; a zeroed one is fine */

/* The graph that runs, with its values. */
static inline const ons_cut_stage *ons_profile_program_cut(const ons_profile_program *program) {
    return &program->dataset_graphs.cuts[ONS_WHOLE].stages[0];
}
/* The one that runs every node. */
static inline ons_program *ons_profile_program_complete(const ons_profile_program *program) {
    ons_program *complete = program->complete.programs[ONS_WHOLE].stage.program;
    return complete != NULL ? complete : program->trained.programs[ONS_WHOLE].stage.program;
}

#endif
