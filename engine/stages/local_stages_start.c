/* Takes the arenas, and starts what drives the stages. */
#include "engine/stages/local_stages_state.h"

/* Of the ring, in the world. */
static ons_status *list_ranks(const ons_local_stages *c, const ons_local_stage *r, uint32_t **ranks) {
    ONS_NEW(*ranks, c->arena, r->ring.count);
    for (uint32_t i = 0; i < r->ring.count; ++i)
        (*ranks)[i] = r->ring.in_turn ? r->device - r->ring.own + i : i * c->o.schedule->devices + r->device;
    return NULL;
}

static ons_status *start_reducer(ons_local_stages *c, ons_local_stage *r) {
    uint32_t *ranks;
    if (r->ring.count == 1) return NULL;
    ONS_TRY(list_ranks(c, r, &ranks));
    ons_reducer_options options = {.device_context = r->device_context,
                                   .world = r->world,
                                   .nccl = r->nccl,
                                   .links = c->links,
                                   .ranks = ranks,
                                   .ring = r->ring,
                                   .reduction = &r->reduction};
    const char *process = r->ring.in_turn ? ons_arena_format(c->arena, "stage %u, copy %u", r->stage, r->ring.own)
                                          : ons_arena_format(c->arena, "replica %u, stage %u", r->replica, r->stage);
    uint32_t rows = ons_device_context_device(r->device_context)->host_can_access ? r->reduction.lanes : 2;
    for (uint32_t i = 0; c->o.trace != NULL && i < rows; ++i)
        ONS_TRY(ons_trace_add_track(c->o.trace, r->world->rank, process, "reduce", &options.tracks[i]));
    return ons_reducer_new(&options, &r->reducer);
}

static ons_status *start_nccl(const ons_local_stages *c, ons_local_stage *r) {
    if (!c->o.nccl) return NULL;
    return ons_nccl_new(r->world, ons_device_context_device(r->device_context), c->o.schedule->devices, &r->nccl);
}

static ons_status *start_worker(ons_local_stages *c, ons_local_stage *r) {
    const ons_stage_program *programs[2 * ONS_BATCH_VARIANTS];
    ons_worker_options options = {
        .device_context = r->device_context,
        .transport = r->transport,
        .links = c->links,
        .nccl = r->nccl,
        .reducer = r->reducer,
        /* One page for all: updates of any stage stop where another has found a fault. */
        .fault = c->links == NULL ? NULL : ons_device_context_get_control(c->stages[0].device_context).fault,
        .stage = r->stage,
        .groups = c->groups.items,
        .sizes = c->sizes,
        .replica = r->replica,
        .ring = r->ring,
        .turns = r->turns,
        .programs = programs,
        .trace = c->o.trace,
    };
    ons_share_list_programs(&r->training, programs, &options.program_count);
    ons_share_list_programs(&r->validation, programs, &options.program_count);
    return ons_worker_new(&options, &r->worker);
}

static ons_status *start_stepper(ons_local_stages *c, ons_local_stage *r) {
    const ons_local_stages_options *o = &c->o;
    ons_stepper_options options = {
        .worker = r->worker,
        .schedule = o->schedule,
        .device = r->device,
        .feed = &r->training.feed,
        .batch = (size_t)o->batching.batch,
        .micro_batches = ons_local_stage_units(c, r),
        .ring = r->ring,
        .reducer = r->reducer,
        .order = {ons_dataset_count(o->training->dataset), (uint64_t)o->config->seed, o->config->shuffle},
        .counts_classes = o->training->counts_classes,
        .ignore_index = (int64_t)o->config->ignore_index.value,
        .class_weights = o->training->graphs[ONS_WHOLE].class_weights,
    };
    for (ons_batch_variant v = ONS_WHOLE; v < ONS_BATCH_VARIANTS; ++v) options.units[v] = r->training.units[v].unit;
    options.target_field = ons_dataset_graphs_target(o->training, &options.target_sample);
    return ons_stepper_new(&options, &r->stepper);
}

static ons_status *start_evaluator(ons_local_stages *c, ons_local_stage *r) {
    r->evaluator = ons_share_evaluator(&r->validation, c->o.validation, r->worker, c->o.config);
    if (!ons_local_stages_have_rings(c)) return NULL;
    r->evaluator.ring = r->ring;
    c->batch_count = (size_t)ons_evaluator_batches(&r->evaluator);
    if (c->batches == NULL) ONS_NEW(c->batches, c->arena, c->batch_count + 1);
    if (c->all_batches == NULL && !ons_local_stages_are_all_here(c))
        ONS_NEW(c->all_batches, c->arena, c->batch_count * ons_local_stages_world(c) + 1);
    ONS_NEW(r->evaluator.batches, c->arena, c->batch_count + 1);
    return NULL;
}

/* All stages meet in it. */
static void connect_stage(void *argument, uintptr_t native) {
    (void)native;
    ons_local_stage *r = argument;
    r->status = ons_worker_connect(r->worker);
    ons_local_stage_share_failure(r);
}

ons_status *ons_local_stages_start(ons_local_stages *c) {
    for (uint32_t i = 0; i < c->o.count; ++i) {
        ONS_TRY(ons_device_context_start(c->stages[i].device_context));
        ONS_TRY(start_nccl(c, &c->stages[i]));
        ONS_TRY(start_reducer(c, &c->stages[i]));
        ONS_TRY(start_worker(c, &c->stages[i]));
        ONS_TRY(start_stepper(c, &c->stages[i]));
        if (c->o.validation->dataset != NULL) ONS_TRY(start_evaluator(c, &c->stages[i]));
    }
    if (!c->o.nccl) return NULL;
    ons_local_stages_drive(c, connect_stage);
    return ons_local_stages_collect_failures(c);
}
