#include <stdlib.h>
#include <string.h>

#include "device/device.h"
#include "engine/plan/lowering.h"
#include "engine/plan/planning.h"
#include "engine/stages/local_stages.h"
#include "planner/partition/reduce.h"

/* What `onstage train` would run on this machine is made ready as the trainer does it: the graph is cut as
 * the plan says, kernels are prepared, so that their scratch memory is known, and the arena of each stage is laid out.
 * Nothing is allocated on the device. */
typedef struct exact {
    ons_planning *p;
    ons_lowering lowering;
    ons_dataset_graphs dataset_graphs; /* borrows the planning's graphs */
    int threads;
} exact;

/* What comes from replicas, or copies, to be added up. */
static ons_status *reserve_staging(const exact *x, const ons_share *share, const ons_rank_group *rank_group,
                                   ons_device_context *device_context) {
    const ons_stage_program *programs[ONS_BATCH_VARIANTS];
    ons_reduction reduction;
    uint32_t count = 0;
    if (rank_group->count == 1) return NULL;
    ons_share_list_programs(share, programs, &count);
    ONS_TRY(ons_reduction_plan(programs, count, rank_group->count, ons_reduce_bucket_bytes, x->p->arena, &reduction));
    ons_device_context_reserve_staging(device_context, reduction.staging_bytes);
    return NULL;
}

/* Of the first copy in the first replica: no slice is larger. `number`: of the group. */
static ons_status *measure_group(const exact *x, const ons_device_group *group, uint32_t number,
                                 ons_device_context *device_context, ons_device_context_memory *memory) {
    const ons_planning *p = x->p;
    const ons_rank_group rank_group = ons_rank_group_of(group, 0, 0, (uint32_t)p->config->replicas);
    const ons_pipeline *pipeline = &p->plan.pipeline;
    const ons_share_options options = {
        .model = p->model,
        .dataset_graphs = &x->dataset_graphs,
        .device_context = device_context,
        .repeats = ons_step_form_of(pipeline).repeats,
        .stage = number,
        .device = group->first,
        .schedule = &x->lowering.lanes.schedule,
        .versions = ons_schedule_versions(&x->lowering.lanes.schedule, group->first),
        .micro_batches = (uint32_t)p->input.micro_batches / group->copies,
        .shard = ons_config_update_shard(p->config, &rank_group),
    };
    ons_share share = {0};
    ons_status *status = ons_share_prepare(&options, &share);
    if (status == NULL) status = reserve_staging(x, &share, &rank_group, device_context);
    if (status == NULL)
        status = ons_share_reserve_samples(&options, p->plan.capacity_bytes > 0 ? p->plan.capacity_bytes : INT64_MAX);
    if (status == NULL) status = ons_device_context_predict(device_context, memory);
    ons_share_free(&share);
    return status;
}

/* All of a lane stands with its first stage. */
static void note_device_memory(ons_plan *plan, const ons_schedule *lanes, uint32_t lane,
                               const ons_device_context_memory *memory) {
    ons_plan_stage *stage = &plan->stages[ons_schedule_first_stage(lanes, lane)];
    for (uint32_t i = 0; i < lanes->stages; ++i)
        if (lanes->device_of[i] == lane) plan->stages[i].memory = (ons_stage_memory){0};
    stage->memory = (ons_stage_memory){
        .weights = memory->parameters + memory->buffers + memory->constants,
        .gradients = memory->gradients,
        .states = memory->states - memory->gradients,
        .peak = memory->transient,
        .total = memory->total,
    };
    ons_plan_note_arena(plan, lanes, lane, memory->total);
    stage->fragmentation_bytes = memory->transient - memory->lower_bound;
}

/* A device holds the arenas of all its lanes. */
static ons_status *find_largest(const exact *x, int64_t *largest) {
    const ons_schedule_lanes *lanes = &x->lowering.lanes;
    int64_t *bytes;
    ONS_NEW(bytes, x->p->arena, x->p->plan.schedule.devices);
    for (uint32_t lane = 0; lane < lanes->schedule.devices; ++lane) {
        int64_t *device = &bytes[lanes->device[lane]];
        *device += x->p->plan.stages[ons_schedule_first_stage(&lanes->schedule, lane)].memory.total;
        *largest = *device > *largest ? *device : *largest;
    }
    return NULL;
}

static ons_status *measure_stages(exact *x, int64_t *largest) {
    ons_planning *p = x->p;
    ons_device_groups groups;
    const ons_schedule_lanes *lanes = &x->lowering.lanes;
    ONS_TRY(ons_device_groups_find(&lanes->schedule, p->arena, &groups));
    for (uint32_t i = 0; i < groups.count; ++i) {
        ons_device *device;
        ons_device_context *device_context;
        ons_device_context_memory memory;
        ONS_TRY(ons_device_new(p->config->device, 0, p->config->pin && p->plan.schedule.devices == 1, &device));
        ONS_TRY(ons_device_context_new(device, p->model->registry, x->threads, &device_context));
        ons_status *status = measure_group(x, &groups.items[i], i, device_context, &memory);
        ons_device_context_free(device_context);
        ONS_TRY(status);
        note_device_memory(&p->plan, &lanes->schedule, groups.items[i].first, &memory);
    }
    return find_largest(x, largest);
}

static ons_status *measure(exact *x, int64_t *largest) {
    ons_planning *p = x->p;
    const ons_pipeline *pipeline = &p->plan.pipeline;
    ONS_TRY(ons_config_threads(p->config, &x->threads));
    x->lowering = (ons_lowering){.arena = ons_arena_new(), .planned = true, .pipeline = *pipeline, .plan = p->plan};
    if (x->lowering.arena == NULL) return ons_status_out_of_memory();
    ONS_TRY(ons_schedule_lanes_find(&p->plan.schedule, x->lowering.arena, &x->lowering.lanes));
    ONS_TRY(ons_lowering_place(p->input.stage.graph, &x->lowering));
    x->dataset_graphs.graphs[ONS_WHOLE] = p->input.stage;
    x->dataset_graphs.graphs[ONS_SHORTER] = p->input.less;
    const ons_model_graph_options half = {
        .model = p->model,
        .config = p->config,
        .training = true,
        .repeats = ons_step_form_of(pipeline).repeats,
    };
    ONS_TRY(ons_dataset_graphs_build_halves(&half, &x->lowering.lanes.schedule, &x->dataset_graphs));
    const ons_batching batching = {
        .batch = p->input.batch,
        .micro_batches = p->input.micro_batches,
        .replicas = p->config->replicas,
        .rows = p->input.stage.rows,
    };
    ONS_TRY(ons_dataset_graphs_build_groups(&half, &x->lowering.lanes.schedule, &batching, 0, &x->dataset_graphs));
    ONS_TRY(ons_lowering_cut(&x->lowering, p->model, NULL, ons_step_form_of(pipeline), &x->dataset_graphs));
    return measure_stages(x, largest);
}

/* A GPU is planned for where there is none, too. */
static bool gpu_is_here(void) {
    ons_status *status = ons_device_check("cuda");
    bool here = status == NULL;
    ons_status_free(status);
    return here;
}

bool ons_planning_is_exact(const ons_planning *p) {
    if (p->model == NULL || p->devices.kind_count > 0 || p->profile.processor == ons_config_uses_cuda(p->config))
        return false;
    if (ons_config_uses_cuda(p->config)) return gpu_is_here();
    return (p->config->profile != NULL && p->config->device_profile == NULL) || strcmp(p->profile.name, "cpu") == 0;
}

ons_status *ons_planning_make_exact(ons_planning *p, int64_t *largest) {
    exact x = {.p = p};
    *largest = 0;
    ons_status *status = measure(&x, largest);
    memset(x.dataset_graphs.graphs, 0, sizeof x.dataset_graphs.graphs);
    ons_dataset_graphs_free(&x.dataset_graphs);
    ons_lowering_free(&x.lowering);
    return status;
}
