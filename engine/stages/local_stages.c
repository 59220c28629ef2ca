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
static uint64_t last_samples_of(const ons_local_stages *c, const ons_local_stage *r) {
    const ons_batching *b = &c->o.batching;
    uint64_t together = ons_units_together(c->o.schedule),
             left = ons_dataset_count(c->o.training->dataset) % (uint64_t)b->batch;
    ons_portions of_step = ons_portions_make((uint64_t)b->batch, (uint64_t)b->micro_batches / together, left);
    of_step = ons_portions_in_parts(of_step, together / ons_units_of_device(c->o.schedule, r->device));
    ons_numbers numbers = ons_ring_numbers(&r->ring, r->ring.own, ons_portions_total(&of_step));
    ons_portions own = ons_portions_of_numbers(of_step, &numbers);
    return ons_portions_samples(&own);
}

static size_t samples_of(const ons_local_stages *c, const ons_local_stage *r) {
    if (!r->ring.in_turn) return (size_t)ons_batching_replica_samples(&c->o.batching);
    uint64_t whole = (uint64_t)c->o.batching.rows * ons_local_stage_units(c, r), last = last_samples_of(c, r);
    return whole > last ? whole : last;
}

static ons_status *build_share(const ons_local_stages *c, ons_local_stage *r, const ons_dataset_graphs *dataset_graphs,
                               bool training, ons_share *share) {
    const ons_local_stages_options *o = &c->o;
    const ons_share_options options = {
        .model = o->model,
        .dataset_graphs = dataset_graphs,
        .device_context = r->device_context,
        .batch = training ? samples_of(c, r) : (size_t)dataset_graphs->graphs[ONS_WHOLE].rows,
        .step_batch = (size_t)(training ? o->batching.batch : dataset_graphs->graphs[ONS_WHOLE].rows),
        .repeats = training && ons_step_form_of(&o->pipeline).repeats,
        .stage = r->stage,
        .device = r->device,
        .schedule = o->schedule,
        .versions = training ? ons_schedule_versions(o->schedule, r->device) : 1,
        .micro_batches = training ? ons_local_stage_units(c, r) : 1,
        .shard = training ? ons_config_update_shard(o->config, &r->ring) : (ons_update_shard){0},
    };
    return ons_share_build(&options, share);
}

/* What the training programs add up is added up over the ring. */
static ons_status *plan_reduction(ons_local_stages *c, ons_local_stage *r) {
    const ons_stage_program **programs;
    uint32_t count = 0;
    if (r->ring.count == 1) return NULL;
    ONS_NEW(programs, c->arena, ONS_BATCH_VARIANTS);
    ons_share_list_programs(&r->training, programs, &count);
    ONS_TRY(ons_reduction_plan(programs, count, r->ring.count, ons_reduce_bucket_bytes, c->arena, &r->reduction));
    ons_device_context_reserve_staging(r->device_context, r->reduction.staging_bytes);
    return NULL;
}

static ons_status *build_stage(ons_local_stages *c, ons_local_stage *r) {
    const ons_device_kind *kind;
    ons_device *device;
    int index = c->o.nccl ? c->o.gpu + (int)(r - c->stages) : 0;
    ONS_TRY(ons_device_kind_find(c->o.config->device, &kind));
    ONS_TRY(kind->device_new(index, c->o.cap, c->o.config->pin && c->o.count == 1, &device));
    ONS_TRY(ons_device_context_new(device, c->o.model->registry, c->o.threads, &r->device_context));
    ons_device_context_set_tf32(r->device_context, ons_config_takes_tf32(c->o.config));
    ONS_TRY(build_share(c, r, c->o.training, true, &r->training));
    ONS_TRY(plan_reduction(c, r));
    return c->o.validation->dataset == NULL ? NULL : build_share(c, r, c->o.validation, false, &r->validation);
}

static ons_status *build_drivers(ons_local_stages *c) {
    if (c->o.count == 1) return NULL;
    if (!ons_device_context_device(c->stages[0].device_context)->host_can_access && !c->o.nccl)
        ONS_TRY(ons_links_new(&c->links));
    ONS_TRY(ons_cpu_device_new(0, false, &c->host));
    ONS_NEW(c->drivers, c->arena, c->o.count + 1);
    ONS_NEW(c->done, c->arena, c->o.count + 1);
    for (uint32_t i = 0; i < c->o.count; ++i) {
        ONS_TRY(c->host->stream_new(c->host, ons_arena_format(c->arena, "rank %u", c->o.first + i), 1, &c->drivers[i]));
        ONS_TRY(c->host->event_new(c->host, &c->done[i]));
    }
    return NULL;
}

/* The earlier of two stages on a device owns what they take turns by. Stages of other processes do not wait for each
 * other, nor do those of GPUs, whose work is not put in by a thread that could. */
static ons_status *share_devices(ons_local_stages *c) {
    const ons_schedule_lanes *lanes = c->o.lanes;
    bool host = ons_device_context_device(c->stages[0].device_context)->host_can_access;
    if (lanes == NULL || lanes->beside == NULL || !host || !ons_local_stages_are_all_here(c)) return NULL;
    for (uint32_t i = 0; i < c->o.count; ++i) {
        ons_local_stage *r = &c->stages[i], *other = &c->stages[lanes->beside[r->device]];
        if (other <= r) continue;
        ONS_TRY(ons_turns_new(&r->turns.turns));
        r->turns.places = lanes->places[r->device];
        other->turns = (ons_turn_end){r->turns.turns, 1, lanes->places[other->device]};
    }
    return NULL;
}

static ons_status *build(ons_local_stages *c) {
    ONS_NEW(c->records, c->arena, ons_local_stages_world(c) + 1);
    ONS_NEW(c->evaluations, c->arena, ons_local_stages_world(c) + 1);
    bool adds_up = c->o.training->graphs[ONS_WHOLE].update.norm == ONS_NONE;
    bool here = ons_local_stages_are_all_here(c); /* for others' squares there is a message more in every step */
    if (ons_local_stages_read_squares(c) && (here || adds_up || c->o.config->log_grad_norms)) {
        size_t squares = c->o.training->graphs[ONS_WHOLE].update.trained_count;
        ONS_NEW(c->squares, c->arena, squares + 1);
        ONS_NEW(c->all_squares, c->arena, squares * ons_local_stages_world(c) + 1);
    }
    for (uint32_t i = 0; i < c->o.count; ++i) ONS_TRY(build_stage(c, &c->stages[i]));
    ONS_TRY(share_devices(c));
    ONS_TRY(ons_local_stages_verify(&c->o, &c->groups, c->stages));
    return build_drivers(c);
}

static ons_status *check_copies(const ons_local_stages *c) {
    ONS_CHECK(c->groups.most_copies == 1 || c->o.batching.replicas == 1, ONS_UNSUPPORTED,
              "--replicas %" PRId64 " beside stages that have copies of their own: a run has one or the other",
              c->o.batching.replicas);
    return NULL;
}

/* Of one replica the world is the group. */
static ons_status *place_stage(const ons_local_stages *c, uint32_t index) {
    ons_local_stage *r = &c->stages[index];
    uint32_t devices = c->o.schedule->devices, number = c->o.first + index;
    r->device = number % devices;
    r->stage = c->groups.of_device[r->device];
    r->replica = number / devices;
    const ons_device_group *group = &c->groups.items[r->stage];
    r->ring = ons_ring_of(group, r->device - group->first, r->replica, (uint32_t)c->o.batching.replicas);
    if (c->o.transports == NULL) return NULL;
    r->world = r->transport = c->o.transports[index];
    if (c->o.batching.replicas == 1) return NULL;
    return ons_transport_group_new(r->world, r->replica * devices, devices, &r->transport);
}

ons_status *ons_local_stages_new(const ons_local_stages_options *options, ons_local_stages **result) {
    ons_local_stages *c = calloc(1, sizeof *c);
    ons_local_stage *stages = calloc(options->count, sizeof *stages);
    ons_arena *arena = ons_arena_new();
    if (c == NULL || stages == NULL || arena == NULL) {
        free(c);
        free(stages);
        ons_arena_free(arena);
        return ons_status_out_of_memory();
    }
    *c = (ons_local_stages){.o = *options, .stages = stages, .arena = arena};
    ons_status *status = ons_device_groups_find(options->schedule, arena, &c->groups);
    if (status == NULL) status = ons_units_sizes(options->schedule, arena, &c->sizes);
    if (status == NULL) status = check_copies(c);
    for (uint32_t i = 0; status == NULL && i < options->count; ++i) status = place_stage(c, i);
    if (status == NULL) status = build(c);
    if (status != NULL) {
        ons_local_stages_free(c);
        return status;
    }
    *result = c;
    return NULL;
}

static void free_stage(ons_local_stage *r) {
    ons_stepper_free(r->stepper);
    ons_worker_free(r->worker);
    ons_reducer_free(r->reducer);
    ons_nccl_free(r->nccl);
    ons_feed_free(&r->training.feed); /* its memory is the device's */
    ons_feed_free(&r->validation.feed);
    ons_device_context_free(r->device_context);
    ons_share_free(&r->training);
    ons_share_free(&r->validation);
    if (r->turns.own == 0) ons_turns_free(r->turns.turns);
    if (r->transport != r->world) r->transport->free(r->transport);
    ons_status_free(r->status);
}

void ons_local_stages_free(ons_local_stages *c) {
    if (c == NULL) return;
    for (uint32_t i = 0; c->drivers != NULL && i < c->o.count; ++i) c->host->stream_free(c->drivers[i]);
    for (uint32_t i = 0; c->done != NULL && i < c->o.count; ++i) c->host->event_free(c->done[i]);
    if (c->host != NULL) c->host->free(c->host);
    for (uint32_t i = 0; c->links != NULL && i < c->o.count; ++i) {
        ons_worker_drain(c->stages[i].worker);
        ons_reducer_drain(c->stages[i].reducer);
    }
    for (uint32_t i = 0; i < c->o.count; ++i) free_stage(&c->stages[i]);
    ons_links_free(c->links);
    free(c->stages);
    ons_arena_free(c->arena);
    free(c);
}

const ons_device_groups *ons_local_stages_groups(const ons_local_stages *c) { return &c->groups; }

uint32_t ons_local_stages_count(const ons_local_stages *c) { return c->o.count; }

ons_local_stage *ons_local_stages_get(const ons_local_stages *c, uint32_t index) { return &c->stages[index]; }

/* ---------------------------------------------------------------------------------------------------------- looking */

const ons_local_stage_work *ons_local_stages_work(const ons_local_stages *c, uint32_t device) {
    return &c->records[device].work;
}

ons_status *ons_local_stages_read(ons_local_stages *c, const char *name, ons_type *type, ons_host_copy *copy,
                                  const void **contents) {
    *contents = NULL;
    ons_type found;
    for (uint32_t i = 0; i < c->o.count && *contents == NULL; ++i)
        ONS_TRY(ons_device_context_read_value(c->stages[i].device_context, name, &found, copy, contents));
    if (type != NULL && *contents != NULL) *type = found;
    return NULL;
}

ons_status *ons_local_stages_square(const ons_local_stages *c, uint32_t index, double *square) {
    ONS_CHECK(c->squares != NULL, ONS_DEFECT, "norms of gradients were not kept");
    *square = c->squares[index];
    return NULL;
}

ons_status *ons_local_stages_get_memory(const ons_local_stages *c, ons_local_stages_memory *memory) {
    *memory = (ons_local_stages_memory){0};
    for (uint32_t i = 0; i < c->o.count; ++i) {
        ons_device_context_memory one;
        ONS_TRY(ons_device_context_predict(c->stages[i].device_context, &one));
        memory->sum.parameters += one.parameters;
        memory->sum.states += one.states;
        memory->sum.buffers += one.buffers;
        memory->sum.constants += one.constants;
        memory->sum.transient += one.transient;
        memory->sum.total += one.total;
        memory->sum.lower_bound += one.lower_bound;
        memory->largest = one.total > memory->largest ? one.total : memory->largest;
        memory->used += ons_device_context_used(c->stages[i].device_context);
    }
    if (c->used_bytes > 0) memory->used = c->used_bytes;
    return NULL;
}
