/* The stages of a planned run, as the plan predicts them and as they came. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine/config/plan_libraries.h"
#include "engine/train/trainer.h"
#include "runtime/program/units.h"

int64_t ons_trainer_stage_count(const ons_trainer *t) {
    return t != NULL && t->lowering.planned ? (int64_t)t->lowering.lanes.schedule.devices : 0;
}

static void count_again(const ons_plan_stage *planned, const ons_graph *graph, ons_stage_report *report) {
    for (uint32_t i = 0; i < planned->decision_count; ++i) {
        if (planned->decisions[i].decision != ONS_RECOMPUTE) continue;
        ons_value_id value = ons_graph_find_value(graph, planned->decisions[i].tensor);
        if (value == ONS_NONE) continue;
        ++report->recomputed_values;
        report->recomputed_bytes += ons_type_dense_bytes(&ons_graph_value(graph, value)->type);
    }
}

static double share_idle(double busy, double whole) { return whole > busy ? 1 - busy / whole : 0; }

static const ons_device_group *group_of(const ons_trainer *t, uint32_t device) {
    const ons_device_groups *groups = ons_local_stages_groups(t->local_stages);
    return &groups->items[groups->of_device[device]];
}

/* Micro-batches of the schedule in one of the device's own. */
static uint32_t units_of(const ons_trainer *t, uint32_t device) {
    return ons_units_size(t->training.sizes, ons_local_stages_groups(t->local_stages)->of_device[device]);
}

/* What the plan says of all stages of a device together. */
typedef struct planned_device {
    double seconds; /* of a micro-batch, without what only waits */
    double update_seconds;
    int64_t bytes;
} planned_device;

static planned_device planned_of(const ons_trainer *t, uint32_t device) {
    const ons_schedule *schedule = &t->lowering.lanes.schedule;
    planned_device sum = {0};
    for (uint32_t i = 0; i < schedule->stages; ++i) {
        const ons_plan_stage *stage = &t->lowering.plan.stages[i];
        if (!ons_schedule_holds(schedule, i, device)) continue;
        sum.seconds += stage->seconds - stage->stall_seconds;
        sum.update_seconds += stage->update_seconds;
        sum.bytes += stage->memory_bytes;
    }
    return sum;
}

static void count_all_again(const ons_trainer *t, uint32_t device, const ons_graph *graph, ons_stage_report *report) {
    const ons_schedule *schedule = &t->lowering.lanes.schedule;
    for (uint32_t i = 0; i < schedule->stages; ++i)
        if (ons_schedule_holds(schedule, i, device)) count_again(&t->lowering.plan.stages[i], graph, report);
}

static ons_status *describe(const ons_trainer *t, const ons_local_stage *local_stage, ons_stage_report *report) {
    const ons_plan *plan = &t->lowering.plan;
    planned_device planned = planned_of(t, local_stage->device);
    double copies = local_stage->rank_group.in_turn ? (double)local_stage->rank_group.count : 1;
    const ons_stage_program *program = &local_stage->training.programs[ONS_WHOLE].stage;
    ons_device_context_memory memory;
    ONS_TRY(ons_device_context_predict(local_stage->device_context, &memory));
    double updates = ons_pipeline_is_asynchronous(&plan->pipeline) ? (double)plan->pipeline.micro_batches : 1;
    *report = (ons_stage_report){
        .stage = local_stage->stage,
        .planned_bytes = planned.bytes,
        .arena_bytes = memory.total,
        .taken_bytes = ons_device_context_used(local_stage->device_context),
        .swapped_values = program->cut->swap_count,
        .swapped_bytes = program->swapped_bytes,
        .predicted_seconds = planned.seconds,
    };
    count_all_again(t, local_stage->device, program->cut->graph, report);
    double micro_batches =
        (double)plan->pipeline.micro_batches / units_of(t, local_stage->device) / copies; /* of its own */
    double busy = report->predicted_seconds * micro_batches + planned.update_seconds * updates;
    if (plan->pipeline.stages == 1 && plan->pipeline.micro_batches == 1) /* updates run in the backward part */
        report->predicted_seconds += planned.update_seconds;
    report->predicted_idle = share_idle(busy, plan->step_seconds);
    return NULL;
}

ons_status *ons_trainer_gather_stages(ons_trainer *t) {
    if (!t->lowering.planned) return NULL;
    uint32_t here = ons_local_stages_count(t->local_stages);
    ONS_NEW(t->stages, t->arena, t->lowering.lanes.schedule.devices * t->batching.replicas);
    for (uint32_t i = 0; i < here; ++i) ONS_TRY(describe(t, ons_local_stages_get(t->local_stages, i), &t->stages[i]));
    if (!t->remote) return NULL;
    const ons_stage_report own = t->stages[0];
    return ons_trainer_meet(t, NULL, &own, t->stages, sizeof own);
}

enum { LIBRARIES_BYTES = 1024 };

typedef struct libraries_of_process {
    char text[LIBRARIES_BYTES];
} libraries_of_process;

static bool was_before(const libraries_of_process *all, uint32_t index) {
    bool before = false;
    for (uint32_t i = 0; i < index; ++i) before |= strcmp(all[i].text, all[index].text) == 0;
    return before;
}

/* Stages that compute with different kernels are a run whose bits no one machine has. */
static ons_status *join_libraries(ons_trainer *t, const libraries_of_process *all, uint32_t count) {
    t->libraries = all[0].text;
    for (uint32_t i = 1; i < count; ++i) {
        if (was_before(all, i)) continue;
        t->libraries = ons_arena_format(t->arena, "%s; rank %u: %s", t->libraries, i, all[i].text);
        if (t->libraries == NULL) return ons_status_out_of_memory();
    }
    if (t->libraries == all[0].text) return NULL;
    bool alone = t->batching.replicas == 1 && ons_local_stages_groups(t->local_stages)->most_copies == 1;
    ONS_CHECK(alone, ONS_UNSUPPORTED,
              "--replicas, or copies of a stage: the processes compute with different kernels, and replicas would not "
              "stay the same (%s); "
              "start them on machines of one kind, or set ONSTAGE_CPU to the lesser one everywhere",
              t->libraries);
    t->mixed = ons_arena_format(
        t->arena, "the processes compute with different kernels, so the bits are those of none (%s)", t->libraries);
    return t->mixed == NULL ? ons_status_out_of_memory() : NULL;
}

ons_status *ons_trainer_gather_libraries(ons_trainer *t) {
    t->libraries = ons_libraries_text(t->arena);
    if (t->libraries == NULL) return ons_status_out_of_memory();
    if (!t->remote) return NULL;
    uint32_t count = ons_trainer_world(t)->ranks;
    libraries_of_process own = {""}, *all;
    snprintf(own.text, sizeof own.text, "%s", t->libraries);
    ONS_NEW(all, t->arena, count);
    ONS_TRY(ons_trainer_meet(t, NULL, &own, all, sizeof own));
    return join_libraries(t, all, count);
}

ons_status *ons_trainer_get_stage(const ons_trainer *t, int64_t index, ons_stage_report *report) {
    ONS_GIVEN(t, "trainer");
    ONS_GIVEN(report, "report");
    ONS_TRAINER_IS_HERE(t);
    ONS_CHECK(index >= 0 && index < ons_trainer_stage_count(t), ONS_INVALID_ARGUMENT, "no stage %lld",
              (long long)index);
    const ons_local_stage_work *work = ons_local_stages_work(t->local_stages, (uint32_t)index);
    *report = t->stages[index];
    uint32_t stage = ons_schedule_first_stage(&t->lowering.lanes.schedule, (uint32_t)index);
    report->first_node = t->lowering.plan.stages[stage].first_node;
    report->measured_seconds = report->measured_idle = NAN;
    if (work->samples == 0 || work->busy_seconds == 0) return NULL; /* a GPU's nodes are timed for a trace alone */
    double ranks = (double)t->batching.replicas * group_of(t, (uint32_t)index)->copies;
    double samples = (double)work->samples / ranks; /* of this one */
    report->measured_seconds = work->busy_seconds * (double)t->batching.rows * units_of(t, (uint32_t)index) / samples;
    report->measured_idle = share_idle(work->busy_seconds + work->update_seconds, work->seconds);
    return NULL;
}

void ons_trainer_fill_stages(const ons_trainer *t, ons_trainer_status *status) {
    status->stages = 1;
    status->predicted_step_seconds = status->measured_step_seconds = NAN;
    if (!t->lowering.planned) return;
    const ons_local_stage_work *work = ons_local_stages_work(t->local_stages, 0);
    status->stages = t->lowering.pipeline.stages;
    status->pipeline = t->lowering.pipeline.generator->name;
    status->predicted_step_seconds = t->lowering.plan.step_seconds;
    if (work->samples > 0)
        status->measured_step_seconds = work->seconds * (double)t->batching.batch / (double)work->samples;
}
