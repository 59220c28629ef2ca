#include "engine/crew_verify.h"

#include "runtime/verify_stages.h"

typedef struct verifying {
    const ons_crew_options *o;
    const ons_rank *ranks;
    ons_arena *arena;
} verifying;

static ons_status *verify_flight(const verifying *v, bool rest, uint32_t micro_batches, const ons_action_list *lists) {
    ons_pipeline pipeline = v->o->pipeline;
    const ons_stage_program **programs;
    ons_action_list *own;
    if (micro_batches == 0) return NULL;
    pipeline.micro_batches = micro_batches;
    ONS_NEW(programs, v->arena, pipeline.stages + 1);
    for (uint32_t i = 0; i < pipeline.stages; ++i) {
        const ons_share *share = &v->ranks[i].training;
        programs[i] = rest ? &share->rest.stage : &share->full.stage;
    }
    if (lists == NULL) {
        ONS_TRY(ons_pipeline_actions(&pipeline, v->arena, &own));
        lists = own;
    }
    const ons_verify_options options = {
        .stages = pipeline.stages,
        .programs = programs,
        .lists = lists,
        .micro_batches = micro_batches,
        .updates = true,
        .asynchronous = ons_pipeline_is_asynchronous(&pipeline),
    };
    return ons_verify_stages(&options);
}

static ons_status *verify_flights(const verifying *v) {
    const ons_batching *b = &v->o->batching;
    int64_t samples = (int64_t)ons_dataset_count(v->o->training->dataset);
    uint32_t whole = (uint32_t)(b->batch / b->rows), last = (uint32_t)(samples % b->batch / b->rows);
    if (samples >= b->batch) ONS_TRY(verify_flight(v, false, whole, v->o->actions));
    if (last != whole) ONS_TRY(verify_flight(v, false, last, NULL));
    return v->o->training->rest.graph == NULL ? NULL : verify_flight(v, true, 1, NULL);
}

ons_status *ons_crew_verify(const ons_crew_options *options, const ons_rank *ranks) {
    verifying v = {options, ranks, ons_arena_new()};
    if (v.arena == NULL) return ons_status_out_of_memory();
    ons_status *status = verify_flights(&v);
    ons_arena_free(v.arena);
    return status;
}
