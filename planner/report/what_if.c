#include "planner/report/what_if.h"

#include <string.h>

#include "planner/simulate/pipeline_simulation.h"
#include "planner/workload/order.h"
#include "planner/workload/workload_scale.h"

/* Whether the question's order says how these nodes stand. */
static bool has_order(const ons_question *q, const ons_workload *work) {
    if (q->order == NULL || work->node_count != q->ordered->node_count) return false;
    for (uint32_t i = 0; i < work->node_count; ++i)
        if (strcmp(work->nodes[q->order[i]].name, q->ordered->nodes[i].name) != 0) return false;
    return true;
}

/* The workload for so many samples, in the question's order. NULL in *work: it cannot be told. */
static ons_status *find_work(const ons_question *q, int64_t samples, ons_arena *arena, const ons_workload **work) {
    bool single = q->stages == 1 && q->micro_batches == 1 && ons_question_replicas(q) == 1;
    const ons_what_if_work *known = single ? &q->device->single : &q->device->summed;
    *work = NULL;
    if (known->low == NULL) return NULL;
    if (samples == known->low->samples) {
        *work = known->low;
    } else if (known->high != NULL) {
        ons_workload *drawn;
        bool same;
        ONS_NEW(drawn, arena, 1);
        ONS_TRY(ons_workload_scale(known->low, known->high, samples, arena, drawn, &same));
        if (!same) return NULL;
        *work = drawn;
    }
    if (*work == NULL || !has_order(q, *work)) return NULL;
    ons_workload *moved;
    ONS_NEW(moved, arena, 1);
    ONS_TRY(ons_work_reorder(*work, q->order, arena, moved));
    *work = moved;
    return NULL;
}

uint32_t ons_question_devices(const ons_question *q) {
    const ons_pipeline p = {q->generator, q->stages, 1, q->devices, 1};
    return ons_pipeline_devices(&p);
}

void ons_question_set_devices(ons_question *q, uint32_t devices) {
    uint32_t before = ons_question_devices(q);
    if (devices == before) return;
    q->stages = devices == 1 ? 1 : devices * (q->stages / before);
    q->devices = devices;
}

void ons_question_set_stages(ons_question *q, uint32_t stages) {
    if (stages == q->stages) return;
    uint64_t share = (uint64_t)q->devices * stages;
    q->devices = share % q->stages == 0 ? (uint32_t)(share / q->stages) : 0;
    q->stages = stages;
}

static ons_status *add_stages(const ons_planned *planned, ons_arena *arena, ons_answer *a) {
    int64_t *bytes;
    ONS_TRY(ons_planned_sum_devices(planned, arena, &bytes));
    for (uint32_t i = 0; i < planned->partition.stages; ++i) {
        const ons_stage_solution *s = &planned->solutions[i];
        for (uint32_t k = 0; k < s->decision_count; ++k) a->optimised |= s->decisions[k].decision != ONS_KEEP;
        a->recompute_seconds += s->recompute_seconds;
        a->stall_seconds += s->stall_seconds;
    }
    for (uint32_t i = 0; i < planned->problem.schedule->devices; ++i)
        if (bytes[i] > a->fullest_bytes) a->fullest_bytes = bytes[i];
    return NULL;
}

static ons_status *simulate(const ons_pipeline_setup *setup, ons_arena *arena, double *seconds) {
    ons_pipeline_forecast forecast;
    ONS_TRY(ons_pipeline_simulate(setup, arena, &forecast));
    *seconds = forecast.iteration_seconds;
    ons_simulation_free(forecast.simulation);
    return NULL;
}

/* The sum over replicas adds what the same step is shorter without it. */
static ons_status *add_times(const ons_question *q, const ons_planned *planned, ons_arena *arena, ons_answer *a) {
    ons_pipeline_setup setup = {.problem = &planned->problem,
                                .first = planned->partition.first,
                                .solutions = planned->solutions,
                                .times_alone = true};
    ONS_TRY(simulate(&setup, arena, &a->step_seconds));
    a->samples_per_second = a->step_seconds > 0 ? (double)q->batch / a->step_seconds : 0;
    if (ons_question_replicas(q) == 1) return NULL;
    ons_pipeline_parts parts;
    double whole, alone;
    ONS_TRY(ons_pipeline_parts_make(&setup, arena, &parts));
    setup.parts = &parts;
    ONS_TRY(simulate(&setup, arena, &whole));
    for (uint32_t i = 0; i < q->stages; ++i) parts.stages[i].reduce_seconds = 0;
    ONS_TRY(simulate(&setup, arena, &alone));
    a->reduce_seconds = whole - alone;
    return NULL;
}

/* Plans the question, in one order of the nodes. A schedule that cannot be made of so many stages, devices and
 * micro-batches is an answer ("not known") and no failure; so is a model that does not fit. */
static ons_status *search_plan(const ons_question *q, const ons_workload *work, ons_arena *arena, ons_answer *a) {
    const ons_device_profile *profile = q->device->profile;
    ons_planned planned;
    ons_schedule schedule;
    uint32_t devices = ons_question_devices(q), replicas = ons_question_replicas(q);
    ons_planning_problem problem = {
        .work = work,
        .pipeline = {q->generator, q->stages, (uint32_t)q->micro_batches, q->devices, replicas},
        .follows_lists = q->follows_lists,
        .batch = replicas == 1 ? q->batch : ons_question_rows(q) * q->micro_batches,
        .capacity_bytes = q->capacity_bytes,
        .link_bandwidth = profile->link_bandwidth,
        .link_latency = profile->link_latency,
        .link_eager_bytes = profile->link_eager_bytes,
        .node_devices = profile->node_devices,
        .network_bandwidth = profile->network_bandwidth,
        .network_latency = profile->network_latency,
        .network_eager_bytes = profile->network_eager_bytes,
        .host_bandwidth = q->without_host ? 0 : profile->host_bandwidth,
        .host_latency = profile->host_latency,
        .host_share = q->device->charged_devices > 0 && devices >= q->device->charged_devices ? 1 : 0,
        .memory = q->memory,
    };
    ons_status *status = ons_schedule_make(&problem.pipeline, arena, &schedule);
    a->known = status == NULL;
    if (status != NULL && ons_status_get_code(status) != ONS_INVALID_ARGUMENT) return status;
    ons_status_free(status); /* there is no such schedule */
    if (!a->known) return NULL;
    problem.schedule = &schedule;
    ONS_TRY(ons_planner_search_order(&problem, q->partition, arena, &planned));
    a->feasible = planned.partition.feasible;
    a->least_bytes = planned.partition.least_bytes;
    if (!a->feasible) return NULL;
    ONS_TRY(add_stages(&planned, arena, a));
    return add_times(q, &planned, arena, a);
}

/* Whether the batch can be split so. */
static bool is_possible(const ons_question *q) {
    const ons_pipeline pipeline = {q->generator, q->stages, 1, q->devices, 1};
    int64_t parts;
    if (q->stages == 0 || q->micro_batches <= 0 || q->micro_batches > UINT32_MAX) return false;
    if (__builtin_mul_overflow(q->micro_batches, ons_question_replicas(q), &parts) || q->batch < parts) return false;
    return ons_question_replicas(q) == 1 || !ons_pipeline_is_asynchronous(&pipeline);
}

ons_status *ons_what_if(const ons_question *q, ons_answer *a) {
    *a = (ons_answer){0};
    if (!is_possible(q)) return NULL;
    ons_arena *arena = ons_arena_new();
    if (arena == NULL) return ons_status_out_of_memory();
    const ons_workload *work;
    ons_status *status = find_work(q, ons_question_rows(q), arena, &work);
    a->known = status == NULL && work != NULL && q->stages <= work->node_count;
    if (a->known) status = search_plan(q, work, arena, a);
    if (q->follows_lists && status != NULL && ons_status_get_code(status) == ONS_INVALID_DATA) {
        ons_status_free(status); /* other stages may not be what the lists are for */
        status = NULL;
        *a = (ons_answer){0};
    }
    ons_arena_free(arena);
    return status;
}

/* Doubling, then halving the gap. */
ons_status *ons_what_if_largest(const ons_question *question, int64_t *batch, ons_answer *answer) {
    ons_question q = *question;
    int64_t fits = 0, fails = 0, parts = q.micro_batches * ons_question_replicas(&q);
    *batch = 0;
    *answer = (ons_answer){0};
    for (int64_t rows = 1; rows > 0 && rows <= ONS_WHAT_IF_ROWS && (fails == 0 || fits + 1 < fails);) {
        ons_answer a;
        q.batch = rows * parts;
        ONS_TRY(ons_what_if(&q, &a));
        if (!a.known) return NULL;
        if (a.feasible) *answer = a;
        *(a.feasible ? &fits : &fails) = rows;
        rows = fails == 0 ? 2 * rows : fits + (fails - fits) / 2;
    }
    *batch = fits * parts;
    return NULL;
}

double ons_what_if_money(const ons_question *q, const ons_answer *a) {
    if (!a->feasible || !(a->samples_per_second > 0)) return 0;
    return q->device->money_per_hour * (double)ons_question_all_devices(q) / 3600 * 1e6 / a->samples_per_second;
}
