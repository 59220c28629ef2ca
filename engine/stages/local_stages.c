#include "engine/stages/local_stages.h"

#include <inttypes.h>
#include <stdlib.h>

#include "device/device_kind.h"
#include "engine/stages/local_stages_state.h"
#include "engine/stages/local_stages_verify.h"
#include "planner/partition/reduce.h"
#include "runtime/transport/transport_group.h"

/* --------------------------------------------------------------------------------------------------------- building */

/* Of an epoch's last step, what is left may be more for the copy that has it than its share of a whole step. */
static uint64_t last_samples_of(const ons_local_stages *local_stages, const ons_local_stage *r) {
    const ons_batching *b = &local_stages->o.batching;
    uint64_t together = ons_units_together(local_stages->o.schedule),
             left = ons_dataset_count(local_stages->o.training->dataset) % (uint64_t)b->batch;
    ons_portions of_step = ons_portions_make((uint64_t)b->batch, (uint64_t)b->micro_batches / together, left);
    of_step = ons_portions_in_parts(of_step, together / ons_units_of_device(local_stages->o.schedule, r->device));
    ons_numbers numbers = ons_rank_group_numbers(&r->rank_group, r->rank_group.own, ons_portions_total(&of_step));
    ons_portions own = ons_portions_of_numbers(of_step, &numbers);
    return ons_portions_samples(&own);
}

static size_t samples_of(const ons_local_stages *local_stages, const ons_local_stage *r) {
    if (!r->rank_group.in_turn) return (size_t)ons_batching_replica_samples(&local_stages->o.batching);
    uint64_t whole = (uint64_t)local_stages->o.batching.rows * ons_local_stage_units(local_stages, r),
             last = last_samples_of(local_stages, r);
    return whole > last ? whole : last;
}

static ons_share_options share_options(const ons_local_stages *local_stages, ons_local_stage *r,
                                       const ons_dataset_graphs *dataset_graphs, bool training) {
    const ons_local_stages_options *o = &local_stages->o;
    return (ons_share_options){
        .model = o->model,
        .dataset_graphs = dataset_graphs,
        .device_context = r->device_context,
        .batch = training ? samples_of(local_stages, r) : (size_t)dataset_graphs->graphs[ONS_WHOLE].rows,
        .step_batch = (size_t)(training ? o->batching.batch : dataset_graphs->graphs[ONS_WHOLE].rows),
        .repeats = training && ons_step_form_of(&o->pipeline).repeats,
        .stage = r->stage,
        .device = r->device,
        .schedule = o->schedule,
        .versions = training ? ons_schedule_versions(o->schedule, r->device) : 1,
        .micro_batches = training ? ons_local_stage_units(local_stages, r) : 1,
        .shard = training ? ons_config_update_shard(o->config, &r->rank_group) : (ons_update_shard){0},
    };
}

static ons_status *build_share(const ons_local_stages *local_stages, ons_local_stage *r,
                               const ons_dataset_graphs *dataset_graphs, bool training, ons_share *share) {
    const ons_share_options options = share_options(local_stages, r, dataset_graphs, training);
    return ons_share_build(&options, share);
}

static ons_status *reserve_samples(const ons_local_stages *local_stages, ons_local_stage *r) {
    const ons_local_stages_options *o = &local_stages->o;
    const ons_share_options options = share_options(local_stages, r, o->training, true);
    return ons_share_reserve_samples(&options, o->cap > 0 ? o->cap : o->capacity > 0 ? o->capacity : INT64_MAX);
}

/* What the training programs add up is added up over the ring. */
static ons_status *plan_reduction(ons_local_stages *local_stages, ons_local_stage *r) {
    const ons_stage_program **programs;
    uint32_t count = 0;
    if (r->rank_group.count == 1) return NULL;
    ONS_NEW(programs, local_stages->arena, ONS_BATCH_VARIANTS);
    ons_share_list_programs(&r->training, programs, &count);
    ONS_TRY(ons_reduction_plan(programs, count, r->rank_group.count, ons_reduce_bucket_bytes, local_stages->arena,
                               &r->reduction));
    ons_device_context_reserve_staging(r->device_context, r->reduction.staging_bytes);
    return NULL;
}

static ons_status *build_stage(ons_local_stages *local_stages, ons_local_stage *r) {
    const ons_device_kind *kind;
    ons_device *device;
    int index = local_stages->o.nccl ? local_stages->o.gpu + (int)(r - local_stages->stages) : 0;
    ONS_TRY(ons_device_kind_find(local_stages->o.config->device, &kind));
    ONS_TRY(kind->device_new(index, local_stages->o.cap, local_stages->o.config->pin && local_stages->o.count == 1,
                             &device));
    ONS_TRY(
        ons_device_context_new(device, local_stages->o.model->registry, local_stages->o.threads, &r->device_context));
    ons_device_context_set_tf32(r->device_context, ons_config_takes_tf32(local_stages->o.config));
    ONS_TRY(build_share(local_stages, r, local_stages->o.training, true, &r->training));
    ONS_TRY(plan_reduction(local_stages, r));
    if (local_stages->o.validation->dataset != NULL)
        ONS_TRY(build_share(local_stages, r, local_stages->o.validation, false, &r->validation));
    return reserve_samples(local_stages, r);
}

static ons_status *build_drivers(ons_local_stages *local_stages) {
    if (local_stages->o.count == 1) return NULL;
    if (!ons_device_context_device(local_stages->stages[0].device_context)->host_can_access && !local_stages->o.nccl)
        ONS_TRY(ons_links_new(&local_stages->links));
    ONS_TRY(ons_cpu_device_new(0, false, &local_stages->host));
    ONS_NEW(local_stages->drivers, local_stages->arena, local_stages->o.count + 1);
    ONS_NEW(local_stages->done, local_stages->arena, local_stages->o.count + 1);
    for (uint32_t i = 0; i < local_stages->o.count; ++i) {
        ONS_TRY(local_stages->host->stream_new(
            local_stages->host, ons_arena_format(local_stages->arena, "rank %u", local_stages->o.first + i), 1,
            &local_stages->drivers[i]));
        ONS_TRY(local_stages->host->event_new(local_stages->host, &local_stages->done[i]));
    }
    return NULL;
}

/* The earlier of two stages on a device owns what they take turns by. Stages of other processes do not wait for each
 * other, nor do those of GPUs, whose work is not put in by a thread that could. */
static ons_status *share_devices(ons_local_stages *local_stages) {
    const ons_schedule_lanes *lanes = local_stages->o.lanes;
    bool host = ons_device_context_device(local_stages->stages[0].device_context)->host_can_access;
    if (lanes == NULL || lanes->beside == NULL || !host || !ons_local_stages_are_all_here(local_stages)) return NULL;
    for (uint32_t i = 0; i < local_stages->o.count; ++i) {
        ons_local_stage *r = &local_stages->stages[i], *other = &local_stages->stages[lanes->beside[r->device]];
        if (other <= r) continue;
        ONS_TRY(ons_turns_new(&r->turns.turns));
        r->turns.places = lanes->places[r->device];
        other->turns = (ons_turn_end){r->turns.turns, 1, lanes->places[other->device]};
    }
    return NULL;
}

static ons_status *build(ons_local_stages *local_stages) {
    ONS_NEW(local_stages->records, local_stages->arena, ons_local_stages_world(local_stages) + 1);
    ONS_NEW(local_stages->evaluations, local_stages->arena, ons_local_stages_world(local_stages) + 1);
    bool adds_up = local_stages->o.training->graphs[ONS_WHOLE].update.norm == ONS_NONE;
    bool here =
        ons_local_stages_are_all_here(local_stages); /* for others' squares there is a message more in every step */
    if (ons_local_stages_read_squares(local_stages) && (here || adds_up || local_stages->o.config->log_grad_norms)) {
        size_t squares = local_stages->o.training->graphs[ONS_WHOLE].update.trained_count;
        ONS_NEW(local_stages->squares, local_stages->arena, squares + 1);
        ONS_NEW(local_stages->all_squares, local_stages->arena, squares * ons_local_stages_world(local_stages) + 1);
    }
    for (uint32_t i = 0; i < local_stages->o.count; ++i) ONS_TRY(build_stage(local_stages, &local_stages->stages[i]));
    ONS_TRY(share_devices(local_stages));
    ONS_TRY(ons_local_stages_verify(&local_stages->o, &local_stages->groups, local_stages->stages));
    return build_drivers(local_stages);
}

static ons_status *check_copies(const ons_local_stages *local_stages) {
    ONS_CHECK(local_stages->groups.most_copies == 1 || local_stages->o.batching.replicas == 1, ONS_UNSUPPORTED,
              "--replicas %" PRId64 " beside stages that have copies of their own: a run has one or the other",
              local_stages->o.batching.replicas);
    return NULL;
}

/* Of one replica the world is the group. */
static ons_status *place_stage(const ons_local_stages *local_stages, uint32_t index) {
    ons_local_stage *r = &local_stages->stages[index];
    uint32_t devices = local_stages->o.schedule->devices, number = local_stages->o.first + index;
    r->device = number % devices;
    r->stage = local_stages->groups.of_device[r->device];
    r->replica = number / devices;
    const ons_device_group *group = &local_stages->groups.items[r->stage];
    r->rank_group =
        ons_rank_group_of(group, r->device - group->first, r->replica, (uint32_t)local_stages->o.batching.replicas);
    if (local_stages->o.transports == NULL) return NULL;
    r->world = r->transport = local_stages->o.transports[index];
    if (local_stages->o.batching.replicas == 1) return NULL;
    return ons_transport_group_new(r->world, r->replica * devices, devices, &r->transport);
}

ons_status *ons_local_stages_new(const ons_local_stages_options *options, ons_local_stages **result) {
    ons_local_stages *local_stages = calloc(1, sizeof *local_stages);
    ons_local_stage *stages = calloc(options->count, sizeof *stages);
    ons_arena *arena = ons_arena_new();
    if (local_stages == NULL || stages == NULL || arena == NULL) {
        free(local_stages);
        free(stages);
        ons_arena_free(arena);
        return ons_status_out_of_memory();
    }
    *local_stages = (ons_local_stages){.o = *options, .stages = stages, .arena = arena};
    ons_status *status = ons_device_groups_find(options->schedule, arena, &local_stages->groups);
    if (status == NULL) status = ons_units_sizes(options->schedule, arena, &local_stages->sizes);
    if (status == NULL) status = check_copies(local_stages);
    for (uint32_t i = 0; status == NULL && i < options->count; ++i) status = place_stage(local_stages, i);
    if (status == NULL) status = build(local_stages);
    if (status != NULL) {
        ons_local_stages_free(local_stages);
        return status;
    }
    *result = local_stages;
    return NULL;
}

static void free_stage(ons_local_stage *r) {
    ons_stepper_free(r->stepper);
    ons_worker_free(r->worker);
    ons_reducer_free(r->reducer);
    ons_nccl_free(r->nccl);
    ons_share_drop_samples(&r->training); /* its memory is the device's */
    ons_share_drop_samples(&r->validation);
    ons_device_context_free(r->device_context);
    ons_share_free(&r->training);
    ons_share_free(&r->validation);
    if (r->turns.own == 0) ons_turns_free(r->turns.turns);
    if (r->transport != r->world) r->transport->free(r->transport);
    ons_status_free(r->status);
}

void ons_local_stages_free(ons_local_stages *local_stages) {
    if (local_stages == NULL) return;
    for (uint32_t i = 0; local_stages->drivers != NULL && i < local_stages->o.count; ++i)
        local_stages->host->stream_free(local_stages->drivers[i]);
    for (uint32_t i = 0; local_stages->done != NULL && i < local_stages->o.count; ++i)
        local_stages->host->event_free(local_stages->done[i]);
    if (local_stages->host != NULL) local_stages->host->free(local_stages->host);
    for (uint32_t i = 0; local_stages->links != NULL && i < local_stages->o.count; ++i) {
        ons_worker_drain(local_stages->stages[i].worker);
        ons_reducer_drain(local_stages->stages[i].reducer);
    }
    for (uint32_t i = 0; i < local_stages->o.count; ++i) free_stage(&local_stages->stages[i]);
    ons_links_free(local_stages->links);
    free(local_stages->stages);
    ons_arena_free(local_stages->arena);
    free(local_stages);
}

const ons_device_groups *ons_local_stages_groups(const ons_local_stages *local_stages) { return &local_stages->groups; }

uint32_t ons_local_stages_count(const ons_local_stages *local_stages) { return local_stages->o.count; }

ons_local_stage *ons_local_stages_get(const ons_local_stages *local_stages, uint32_t index) {
    return &local_stages->stages[index];
}

/* ---------------------------------------------------------------------------------------------------------- looking */

const ons_local_stage_work *ons_local_stages_work(const ons_local_stages *local_stages, uint32_t device) {
    return &local_stages->records[device].work;
}

ons_status *ons_local_stages_read(ons_local_stages *local_stages, const char *name, ons_type *type, ons_host_copy *copy,
                                  const void **contents) {
    *contents = NULL;
    ons_type found;
    for (uint32_t i = 0; i < local_stages->o.count && *contents == NULL; ++i)
        ONS_TRY(ons_device_context_read_value(local_stages->stages[i].device_context, name, &found, copy, contents));
    if (type != NULL && *contents != NULL) *type = found;
    return NULL;
}

ons_status *ons_local_stages_square(const ons_local_stages *local_stages, uint32_t index, double *square) {
    ONS_CHECK(local_stages->squares != NULL, ONS_DEFECT, "norms of gradients were not kept");
    *square = local_stages->squares[index];
    return NULL;
}

ons_status *ons_local_stages_get_memory(const ons_local_stages *local_stages, ons_local_stages_memory *memory) {
    *memory = (ons_local_stages_memory){0};
    for (uint32_t i = 0; i < local_stages->o.count; ++i) {
        ons_device_context_memory one;
        ONS_TRY(ons_device_context_predict(local_stages->stages[i].device_context, &one));
        memory->sum.parameters += one.parameters;
        memory->sum.states += one.states;
        memory->sum.buffers += one.buffers;
        memory->sum.constants += one.constants;
        memory->sum.transient += one.transient;
        memory->sum.total += one.total;
        memory->sum.lower_bound += one.lower_bound;
        memory->largest = one.total > memory->largest ? one.total : memory->largest;
        memory->used += ons_device_context_used(local_stages->stages[i].device_context);
    }
    if (local_stages->used_bytes > 0) memory->used = local_stages->used_bytes;
    return NULL;
}
