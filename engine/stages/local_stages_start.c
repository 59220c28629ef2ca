/* Takes the arenas, and starts what drives the stages. */
#include "engine/stages/local_stages_state.h"

/* Of the ring, in the world. */
static ons_status *list_ranks(const ons_local_stages *local_stages, const ons_local_stage *r, uint32_t **ranks) {
    ONS_NEW(*ranks, local_stages->arena, r->rank_group.count);
    for (uint32_t i = 0; i < r->rank_group.count; ++i)
        (*ranks)[i] = r->rank_group.in_turn ? r->device - r->rank_group.own + i
                                            : i * local_stages->o.schedule->devices + r->device;
    return NULL;
}

static ons_status *start_reducer(ons_local_stages *local_stages, ons_local_stage *r) {
    uint32_t *ranks;
    if (r->rank_group.count == 1) return NULL;
    ONS_TRY(list_ranks(local_stages, r, &ranks));
    ons_reducer_options options = {.device_context = r->device_context,
                                   .world = r->world,
                                   .nccl = r->nccl,
                                   .links = local_stages->links,
                                   .ranks = ranks,
                                   .rank_group = r->rank_group,
                                   .reduction = &r->reduction};
    const char *process = r->rank_group.in_turn
                              ? ons_arena_format(local_stages->arena, "stage %u, copy %u", r->stage, r->rank_group.own)
                              : ons_arena_format(local_stages->arena, "replica %u, stage %u", r->replica, r->stage);
    uint32_t rows = ons_device_context_device(r->device_context)->host_can_access ? r->reduction.in_flight : 2;
    for (uint32_t i = 0; local_stages->o.trace != NULL && i < rows; ++i)
        ONS_TRY(ons_trace_add_track(local_stages->o.trace, r->world->rank, process, "reduce", &options.tracks[i]));
    return ons_reducer_new(&options, &r->reducer);
}

static ons_status *start_nccl(const ons_local_stages *local_stages, ons_local_stage *r) {
    if (!local_stages->o.nccl) return NULL;
    return ons_nccl_new(r->world, ons_device_context_device(r->device_context), local_stages->o.schedule->devices,
                        &r->nccl);
}

static ons_status *start_worker(ons_local_stages *local_stages, ons_local_stage *r) {
    const ons_stage_program *programs[2 * ONS_BATCH_VARIANTS];
    ons_worker_options options = {
        .device_context = r->device_context,
        .transport = r->transport,
        .links = local_stages->links,
        .nccl = r->nccl,
        .reducer = r->reducer,
        /* One page for all: updates of any stage stop where another has found a fault. */
        .fault = local_stages->links == NULL
                     ? NULL
                     : ons_device_context_get_control(local_stages->stages[0].device_context).fault,
        .stage = r->stage,
        .groups = local_stages->groups.items,
        .sizes = local_stages->sizes,
        .replica = r->replica,
        .rank_group = r->rank_group,
        .turns = r->turns,
        .programs = programs,
        .trace = local_stages->o.trace,
    };
    ons_share_list_programs(&r->training, programs, &options.program_count);
    ons_share_list_programs(&r->validation, programs, &options.program_count);
    return ons_worker_new(&options, &r->worker);
}

static ons_status *start_stepper(ons_local_stages *local_stages, ons_local_stage *r) {
    const ons_local_stages_options *o = &local_stages->o;
    ons_stepper_options options = {
        .worker = r->worker,
        .schedule = o->schedule,
        .device = r->device,
        .feed = &r->training.feed,
        .batch = (size_t)o->batching.batch,
        .micro_batches = ons_local_stage_units(local_stages, r),
        .rank_group = r->rank_group,
        .reducer = r->reducer,
        .order = {ons_dataset_count(o->training->dataset), (uint64_t)o->config->seed, o->config->shuffle},
        .counts_classes = o->training->counts_classes,
        .ignore_index = (int64_t)o->config->ignore_index.value,
        .class_weights = o->training->graphs[ONS_WHOLE].class_weights,
        .totals = r->training.totals,
    };
    for (ons_batch_variant v = ONS_WHOLE; v < ONS_BATCH_VARIANTS; ++v)
        options.programs[v] = r->training.programs[v].step_program;
    options.target_field = ons_dataset_graphs_target(o->training, &options.target_sample);
    return ons_stepper_new(&options, &r->stepper);
}

static ons_status *start_evaluator(ons_local_stages *local_stages, ons_local_stage *r) {
    r->evaluator = ons_share_evaluator(&r->validation, local_stages->o.validation, r->worker, local_stages->o.config);
    if (!ons_local_stages_have_rank_groups(local_stages)) return NULL;
    r->evaluator.rank_group = r->rank_group;
    local_stages->batch_count = (size_t)ons_evaluator_batches(&r->evaluator);
    if (local_stages->batches == NULL)
        ONS_NEW(local_stages->batches, local_stages->arena, local_stages->batch_count + 1);
    if (local_stages->all_batches == NULL && !ons_local_stages_are_all_here(local_stages))
        ONS_NEW(local_stages->all_batches, local_stages->arena,
                local_stages->batch_count * ons_local_stages_world(local_stages) + 1);
    ONS_NEW(r->evaluator.batches, local_stages->arena, local_stages->batch_count + 1);
    return NULL;
}

/* All stages meet in it. */
static void connect_stage(void *argument, uintptr_t native) {
    (void)native;
    ons_local_stage *r = argument;
    r->status = ons_worker_connect(r->worker);
    ons_local_stage_share_failure(r);
}

/* The pages of what is in the arena: else file and arena would lie in memory at once. */
static void give_back_file(void *file) { ons_model_file_give_back(file); }

ons_status *ons_local_stages_start(ons_local_stages *local_stages) {
    for (uint32_t i = 0; i < local_stages->o.count; ++i) {
        ons_device_context_tell_loaded(local_stages->stages[i].device_context, give_back_file,
                                       local_stages->o.model->file);
        ONS_TRY(ons_device_context_start(local_stages->stages[i].device_context));
        ONS_TRY(start_nccl(local_stages, &local_stages->stages[i]));
        ONS_TRY(start_reducer(local_stages, &local_stages->stages[i]));
        ONS_TRY(start_worker(local_stages, &local_stages->stages[i]));
        ONS_TRY(start_stepper(local_stages, &local_stages->stages[i]));
        if (local_stages->o.validation->dataset != NULL)
            ONS_TRY(start_evaluator(local_stages, &local_stages->stages[i]));
    }
    if (!local_stages->o.nccl) return NULL;
    ons_local_stages_drive(local_stages, connect_stage);
    return ons_local_stages_collect_failures(local_stages);
}
