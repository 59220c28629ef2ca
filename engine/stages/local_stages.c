#include "engine/stages/local_stages.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "device/device_kind.h"
#include "engine/stages/local_stages_verify.h"
#include "planner/partition/reduce.h"
#include "runtime/transport/transport_group.h"

typedef struct step_record {
    bool has_loss, has_norm, stop;
    double loss, norm, scale;
    int64_t used_bytes;
    ons_local_stage_work work;
} step_record;

struct ons_local_stages {
    ons_local_stages_options o;
    ons_arena *arena;
    ons_local_stage *stages;
    ons_device *host;     /* threads that drive the stages: one puts work on its streams and waits for it */
    ons_links *links;     /* between the stages, where their devices share a GPU; NULL: the transport serves */
    ons_stream **drivers; /* of each stage; NULL: the caller drives the only one */
    ons_event **done;
    ons_device_groups groups;
    step_record *records; /* of all stages */
    ons_evaluation_result *evaluations;
    /* Of several replicas: sums of each batch of a validation, of this process and of each rank. */
    ons_evaluation_sums *batches, *all_batches;
    size_t batch_count;
    double *squares, *all_squares; /* of the last step, of all stages; NULL: all are in this process, or nobody asks */
    int64_t used_bytes;            /* of all stages, where some are elsewhere; 0: not known yet */
};

/* Devices of all replicas. */
static uint32_t world_size(const ons_local_stages *c) {
    return c->o.schedule->devices * (uint32_t)c->o.batching.replicas;
}

static bool is_all_here(const ons_local_stages *c) { return c->o.count == world_size(c); }

/* Some devices have summed over others what the host reads of them. */
static bool has_rings(const ons_local_stages *c) { return c->o.batching.replicas > 1 || c->groups.most_copies > 1; }

/* --------------------------------------------------------------------------------------------------------- building */

/* Micro-batches of a step, of one rank at most. */
static uint32_t micro_batches_of(const ons_local_stages *c, const ons_local_stage *r) {
    return (uint32_t)c->o.batching.micro_batches / (r->ring.in_turn ? r->ring.count : 1);
}

static size_t samples_of(const ons_local_stages *c, const ons_local_stage *r) {
    int64_t all = ons_batching_replica_samples(&c->o.batching);
    return (size_t)(r->ring.in_turn ? c->o.batching.rows * micro_batches_of(c, r) : all);
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
        .micro_batches = training ? micro_batches_of(c, r) : 1,
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

static bool reads_squares(const ons_local_stages *c) {
    return c->o.training->graphs[ONS_WHOLE].squares != NULL && !c->o.training->graphs[ONS_WHOLE].squares_idle;
}

static ons_status *build(ons_local_stages *c) {
    ONS_NEW(c->records, c->arena, world_size(c) + 1);
    ONS_NEW(c->evaluations, c->arena, world_size(c) + 1);
    bool adds_up = c->o.training->graphs[ONS_WHOLE].update.norm == ONS_NONE;
    bool here = is_all_here(c); /* for others' squares there is a message more in every step */
    if (reads_squares(c) && (here || adds_up || c->o.config->log_grad_norms)) {
        size_t squares = c->o.training->graphs[ONS_WHOLE].update.trained_count;
        ONS_NEW(c->squares, c->arena, squares + 1);
        ONS_NEW(c->all_squares, c->arena, squares * world_size(c) + 1);
    }
    for (uint32_t i = 0; i < c->o.count; ++i) ONS_TRY(build_stage(c, &c->stages[i]));
    ONS_TRY(ons_local_stages_verify(&c->o, &c->groups, c->stages));
    return build_drivers(c);
}

static ons_status *check_copies(const ons_local_stages *c) {
    if (c->groups.most_copies == 1) return NULL;
    ONS_CHECK(c->o.batching.replicas == 1, ONS_UNSUPPORTED,
              "--replicas %" PRId64 " beside stages that have copies of their own: a run has one or the other",
              c->o.batching.replicas);
    for (uint32_t i = 0; i < c->o.schedule->stages; ++i)
        ONS_CHECK(
            ons_schedule_grouping(c->o.schedule, i).size == 1, ONS_UNSUPPORTED,
            "stage %u has micro-batches of %u units, and other stages have copies: training takes plans of one or "
            "the other; plan with stages of one size, or without replicas of stages",
            i, ons_schedule_grouping(c->o.schedule, i).size);
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

/* --------------------------------------------------------------------------------------------------------- starting */

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
        .replica = r->replica,
        .ring = r->ring,
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
        .micro_batches = micro_batches_of(c, r),
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
    if (!has_rings(c)) return NULL;
    r->evaluator.ring = r->ring;
    c->batch_count = (size_t)ons_evaluator_batches(&r->evaluator);
    if (c->batches == NULL) ONS_NEW(c->batches, c->arena, c->batch_count + 1);
    if (c->all_batches == NULL && !is_all_here(c))
        ONS_NEW(c->all_batches, c->arena, c->batch_count * world_size(c) + 1);
    ONS_NEW(r->evaluator.batches, c->arena, c->batch_count + 1);
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------------- step */

static ons_local_stage_work work_so_far(const ons_local_stage *r) {
    ons_worker_busy busy = ons_worker_get_busy(r->worker);
    ons_local_stage_work work = {
        .seconds = (double)ons_trace_now() * 1e-9,
        .update_seconds = (double)busy.of_part[ONS_PART_END] * 1e-9,
        .swapped_bytes = ons_worker_get_traffic(r->worker).swapped_out_bytes,
    };
    for (ons_part part = ONS_PART_BEGIN; part < ONS_PART_END; ++part)
        work.busy_seconds += (double)busy.of_part[part] * 1e-9;
    return work;
}

static void note_work(ons_local_stage *r, const ons_local_stage_work *before) {
    ons_local_stage_work after = work_so_far(r);
    if (!r->warm) {
        r->warm = true;
        return;
    }
    ++r->work.steps;
    r->work.samples += r->result.samples;
    r->work.seconds += after.seconds - before->seconds;
    r->work.update_seconds += after.update_seconds - before->update_seconds;
    r->work.busy_seconds += after.busy_seconds - before->busy_seconds;
    r->work.swapped_bytes += after.swapped_bytes - before->swapped_bytes;
}

/* A stage that fails ends what the others do, too: they would wait for it. */
static void share_failure(ons_local_stage *r) {
    if (r->status == NULL || r->transport == NULL) return;
    if (r->ring.in_turn) r->status = ons_status_at(r->status, "copy %u", r->ring.own);
    r->status = ons_status_at(r->status, "stage %u", r->stage);
    if (r->reducer != NULL && !r->ring.in_turn) r->status = ons_status_at(r->status, "replica %u", r->replica);
    r->transport->fail(r->transport, r->status);
}

static void step(void *argument, uintptr_t native) {
    (void)native;
    ons_local_stage *r = argument;
    ons_local_stage_work before = work_so_far(r);
    r->status = ons_stepper_run(r->stepper, r->step, r->rate, r->last_step, &r->result);
    if (r->status == NULL) note_work(r, &before);
    share_failure(r);
}

/* A task of all stages beside each other. */
static void drive(ons_local_stages *c, ons_task *task) {
    if (c->drivers == NULL) {
        task(&c->stages[0], 0);
        return;
    }
    for (uint32_t i = 0; i < c->o.count; ++i) {
        c->host->launch(c->drivers[i], task, &c->stages[i]);
        c->host->event_record(c->drivers[i], c->done[i]);
    }
    for (uint32_t i = 0; i < c->o.count; ++i) c->host->event_synchronize(c->done[i]);
}

/* The first failure: what the others report follows from it. */
static ons_status *collect_failures(ons_local_stages *c) {
    ons_status *first = NULL;
    ons_transport *transport = c->stages[0].transport;
    for (uint32_t i = 0; i < c->o.count; ++i) {
        ons_status *status = c->stages[i].status;
        c->stages[i].status = NULL;
        if (first == NULL && status != NULL && transport != NULL) {
            first = transport->failure(transport);
            if (first != NULL) {
                ons_status_free(status);
                continue;
            }
        }
        if (first == NULL)
            first = status;
        else
            ons_status_free(status);
    }
    return first;
}

/* All stages meet in it. */
static void connect_stage(void *argument, uintptr_t native) {
    (void)native;
    ons_local_stage *r = argument;
    r->status = ons_worker_connect(r->worker);
    share_failure(r);
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
    drive(c, connect_stage);
    return collect_failures(c);
}

/* Validation takes their places. NaN: another process has it. Of several stages that have it the first one's holds. */
static ons_status *keep_squares(const ons_local_stages *c) {
    uint32_t count = c->o.training->graphs[ONS_WHOLE].update.trained_count;
    if (c->squares == NULL) return NULL;
    for (uint32_t i = 0; i < count; ++i) c->squares[i] = NAN;
    for (uint32_t i = c->o.count; i-- > 0;) {
        const ons_unit *unit = c->stages[i].result.last;
        ONS_TRY(
            ons_device_context_scalars(c->stages[i].device_context, unit->program, unit->squares, count, c->squares));
    }
    return NULL;
}

/* What a stage has of a step's results. */
static void merge_result(step_record *record, const ons_local_stage *r, ons_step_result *result) {
    *record = (step_record){
        .has_loss = r->training.units[ONS_WHOLE].unit.loss != ONS_NONE,
        .has_norm = r->training.units[ONS_WHOLE].unit.norm != ONS_NONE,
        .loss = r->result.loss,
        .norm = r->result.norm,
        .scale = r->result.scale,
        .stop = result->stop,
        .used_bytes = ons_device_context_used(r->device_context),
        .work = r->work,
    };
    if (record->has_loss) result->loss = record->loss;
    if (record->has_norm) result->norm = record->norm, result->scale = record->scale;
}

/* The stages of other processes, which have come to the end of the step, too. */
static ons_status *merge_remote(ons_local_stages *c, ons_step_result *result) {
    ons_transport *t = c->stages[0].world;
    step_record own = c->records[0];
    if (!t->gather(t, &own, c->records, sizeof own)) return t->failure(t);
    c->used_bytes = 0;
    for (uint32_t i = 0; i < world_size(c); ++i) {
        if (c->records[i].has_loss) result->loss = c->records[i].loss;
        if (c->records[i].has_norm) result->norm = c->records[i].norm, result->scale = c->records[i].scale;
        result->stop = result->stop || c->records[i].stop;
        c->used_bytes += c->records[i].used_bytes;
    }
    uint32_t squares = c->o.training->graphs[ONS_WHOLE].update.trained_count;
    if (c->squares == NULL) return NULL;
    if (!t->gather(t, c->squares, c->all_squares, squares * sizeof *c->squares)) return t->failure(t);
    for (uint32_t device = 0; device < world_size(c); ++device)
        for (uint32_t i = 0; i < squares; ++i) {
            double each = c->all_squares[(size_t)device * squares + i];
            if (!isnan(each)) c->squares[i] = each;
        }
    return NULL;
}

/* In the order of the file, whichever stage has what. */
static ons_status *add_up_norm(ons_local_stages *c, ons_step_result *result) {
    double sum = 0, square;
    for (uint32_t i = 0; i < c->o.training->graphs[ONS_WHOLE].update.trained_count; ++i) {
        ONS_TRY(ons_local_stages_square(c, i, &square));
        sum += square;
    }
    result->norm = sqrt(sum);
    return NULL;
}

ons_status *ons_local_stages_step(ons_local_stages *c, uint64_t number, ons_rate rate, bool last_step,
                                  ons_step_result *result) {
    for (uint32_t i = 0; i < c->o.count; ++i) {
        ons_local_stage *r = &c->stages[i];
        r->step = number;
        r->rate = rate;
        r->last_step = last_step;
    }
    drive(c, step);
    ONS_TRY(collect_failures(c));
    *result = c->stages[0].result;
    result->stop = c->o.stop_requested != NULL && atomic_load(c->o.stop_requested);
    for (uint32_t i = 0; i < c->o.count; ++i) merge_result(&c->records[i], &c->stages[i], result);
    ONS_TRY(keep_squares(c));
    if (!is_all_here(c)) ONS_TRY(merge_remote(c, result));
    /* A norm that nothing is clipped by is no stage's. */
    bool adds_up = reads_squares(c) && c->o.training->graphs[ONS_WHOLE].update.norm == ONS_NONE;
    return adds_up ? add_up_norm(c, result) : NULL;
}

static void evaluate(void *argument, uintptr_t native) {
    (void)native;
    ons_local_stage *r = argument;
    r->status = ons_status_at(ons_evaluator_run(&r->evaluator, &r->evaluation), "validation");
    share_failure(r);
}

static void merge_evaluation(const ons_evaluation_result *of_stage, ons_evaluation_result *result) {
    if (!isnan(of_stage->loss)) result->loss = of_stage->loss;
    if (!isnan(of_stage->accuracy)) result->accuracy = of_stage->accuracy;
}

/* What is known of a batch goes where it is not. */
static void merge_batch(const ons_evaluation_sums *from, ons_evaluation_sums *to) {
    if (!isnan(from->loss)) to->loss = from->loss;
    if (!isnan(from->right)) to->right = from->right;
    if (!isnan(from->targets)) to->targets = from->targets;
    if (!isnan(from->weight)) to->weight = from->weight;
}

/* Every replica has some of the batches. */
static ons_status *join_batches(ons_local_stages *c, ons_evaluation_result *result) {
    for (size_t k = 0; k < c->batch_count; ++k) {
        c->batches[k] = (ons_evaluation_sums){NAN, NAN, NAN, NAN};
        for (uint32_t i = 0; i < c->o.count; ++i) merge_batch(&c->stages[i].evaluator.batches[k], &c->batches[k]);
    }
    if (!is_all_here(c)) {
        ons_transport *t = c->stages[0].world;
        if (!t->gather(t, c->batches, c->all_batches, c->batch_count * sizeof *c->batches)) return t->failure(t);
        for (size_t i = 0; i < world_size(c) * c->batch_count; ++i)
            merge_batch(&c->all_batches[i], &c->batches[i % c->batch_count]);
    }
    ons_evaluator_options all = c->stages[0].evaluator;
    all.batches = c->batches;
    return ons_status_at(ons_evaluator_join(&all, result), "validation");
}

ons_status *ons_local_stages_evaluate(ons_local_stages *c, ons_evaluation_result *result) {
    ONS_TRY(ons_local_stages_settle_versions(c)); /* inference graphs know of one version */
    drive(c, evaluate);
    ONS_TRY(collect_failures(c));
    *result = c->stages[0].evaluation;
    if (has_rings(c)) return join_batches(c, result);
    for (uint32_t i = 1; i < c->o.count; ++i) merge_evaluation(&c->stages[i].evaluation, result);
    if (is_all_here(c)) return NULL;
    ons_transport *t = c->stages[0].world;
    ons_evaluation_result own = *result;
    if (!t->gather(t, &own, c->evaluations, sizeof own)) return t->failure(t);
    for (uint32_t i = 0; i < world_size(c); ++i) merge_evaluation(&c->evaluations[i], result);
    return NULL;
}

/* ---------------------------------------------------------------------------------------------------------- looking */

/* The versions of a weight lie behind each other, aligned. */
static ons_status *settle(ons_local_stage *r, uint32_t version) {
    const ons_program *program = r->training.units[ONS_WHOLE].unit.program;
    const ons_graph *graph = ons_program_graph(program);
    const ons_liveness *liveness = ons_program_liveness(program);
    for (ons_value_id id = 0; id < graph->values.count; ++id) {
        const ons_value *value = ons_graph_value(graph, id);
        if (value->kind != ONS_PARAMETER || value->producer != ONS_NONE || !ons_program_is_versioned(program, id))
            continue;
        size_t bytes = (size_t)liveness->buffers[liveness->buffer_of_value[id]].bytes;
        char *first = ons_device_context_find(r->device_context, value->name, NULL);
        if (first != NULL)
            ONS_TRY(ons_device_context_copy(r->device_context, first,
                                            first + (size_t)ons_arena_align((int64_t)bytes) * version, bytes));
    }
    return NULL;
}

ons_status *ons_local_stages_settle_versions(ons_local_stages *c) {
    for (uint32_t i = 0; i < c->o.count; ++i) {
        ons_local_stage *r = &c->stages[i];
        uint32_t version = ons_stepper_version(r->stepper);
        if (version == 0) continue;
        ONS_TRY(settle(r, version));
        ons_stepper_rewind(r->stepper);
    }
    return NULL;
}

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
