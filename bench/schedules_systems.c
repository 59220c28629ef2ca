#include "bench/schedules_systems.h"

#include <math.h>
#include <time.h>

#include "planner/cost/device_profile.h"
#include "planner/partition/beam.h"
#include "planner/partition/cuts.h"
#include "planner/search/flexpipe_tuner.h"
#include "planner/search/pfeife.h"
#include "planner/simulate/pipeline_simulation.h"

enum { BLOCK_NODES = 10, FRONT_NODES = 2 }; /* of tests/rooms/planner/vision_work.h */

typedef struct measuring {
    const schedules_case *c;
    ons_arena *arena;
    ons_planning_problem problem;
    schedules_result *result;
} measuring;

double schedules_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ------------------------------------------------------------------------------------------------------- one system */

static ons_status *simulate(const ons_planning_problem *p, const uint32_t *first, const ons_stage_solution *solutions,
                            schedules_row *row) {
    ons_pipeline_setup setup = {.problem = p, .first = first, .solutions = solutions};
    ons_pipeline_forecast f;
    ons_arena *scratch = ons_arena_new();
    if (scratch == NULL) return ons_status_out_of_memory();
    ons_status *status = ons_pipeline_simulate(&setup, scratch, &f);
    if (status == NULL) {
        row->step_seconds = f.iteration_seconds;
        for (uint32_t i = 0; i < f.device_count; ++i) {
            row->bubble_share += f.devices[i].bubble_share / f.device_count;
            if (f.devices[i].peak_bytes > row->bytes) row->bytes = f.devices[i].peak_bytes;
        }
        ons_simulation_free(f.simulation);
    }
    ons_arena_free(scratch);
    return status;
}

static ons_status *add(measuring *m, schedules_row row) {
    int64_t capacity = m->problem.capacity_bytes;
    ONS_CHECK(m->result->count < SCHEDULES_ROWS, ONS_DEFECT, "a table of more systems than it has room for");
    row.fits = capacity == 0 || row.bytes <= capacity;
    m->result->rows[m->result->count++] = row;
    return NULL;
}

/* As many layers in each stage, what is in front of them with the first and what is behind with the last. */
static ons_status *add_even_layers(measuring *m, const char *system, const ons_generator *g, uint32_t chunks) {
    ons_planning_problem p = m->problem;
    ons_schedule schedule;
    uint32_t stages = m->c->devices * chunks, *first;
    schedules_row row = {.system = system, .search_seconds = -1};
    if (stages > m->c->work.blocks) return NULL;
    p.pipeline.generator = g;
    p.pipeline.stages = stages;
    ONS_TRY(ons_schedule_make(&p.pipeline, m->arena, &schedule));
    p.schedule = &schedule;
    ONS_NEW(first, m->arena, (size_t)stages + 1);
    for (uint32_t i = 1; i < stages; ++i) first[i] = FRONT_NODES + m->c->work.blocks * i / stages * BLOCK_NODES;
    first[stages] = p.work->node_count;
    ONS_TRY(simulate(&p, first, NULL, &row));
    return add(m, row);
}

/* 1F1B with the vocabulary's layers sharded over all devices, as if shards never waited for each other: their seconds
 * are spread over the parts of all stages. No such step is faster. */
static ons_status *add_sharded(measuring *m) {
    ons_workload without;
    vision_work_options o = m->c->work;
    ons_planning_problem p = m->problem;
    ons_schedule schedule;
    if (!o.every_token) return NULL;
    o.classes = 1;
    ONS_TRY(vision_work_make(&o, m->arena, &without));
    double all = ons_work_seconds(p.work, 0, p.work->node_count);
    double shards = all - ons_work_seconds(&without, 0, without.node_count);
    ons_beam_options options = {.part_seconds = shards / (2 * m->c->devices)};
    ons_beam_split split;
    p.work = &without;
    p.pipeline.generator = &ons_generator_one_f_one_b;
    ONS_TRY(ons_schedule_make(&p.pipeline, m->arena, &schedule));
    p.schedule = &schedule;
    ONS_NEW(split.first, m->arena, (size_t)m->c->devices + 1);
    for (uint32_t i = 1; i < m->c->devices; ++i)
        split.first[i] = FRONT_NODES + o.blocks * i / m->c->devices * BLOCK_NODES;
    split.first[m->c->devices] = without.node_count;
    ONS_TRY(ons_beam_measure(&p, &options, m->arena, &split));
    double busy = all * m->c->micro_batches / m->c->devices;
    return add(m, (schedules_row){.system = "T-1F1B",
                                  .step_seconds = split.seconds,
                                  .bubble_share = 1 - busy / split.seconds,
                                  .search_seconds = -1,
                                  .bound = true});
}

static ons_status *add_pfeife(measuring *m) {
    ons_planning_problem p = m->problem;
    ons_pfeife_plan plan;
    ons_pfeife_options options = {.most_prefetch = ONS_PFEIFE_ANY};
    schedules_row row = {.system = "Pfeife"};
    double began = schedules_now();
    ONS_TRY(ons_pfeife_search(&p, &options, m->arena, &plan));
    row.search_seconds = schedules_now() - began;
    row.choice = ons_arena_format(m->arena, "N_l = %u, B_l = %u, B_f up to %u", plan.vectors->loops,
                                  plan.vectors->loop_micro_batches, plan.vectors->prefetch[0]);
    p.pipeline = plan.pipeline;
    p.schedule = plan.schedule;
    ONS_TRY(simulate(&p, plan.split.first, NULL, &row));
    if (plan.split.over_bytes > 0 && row.bytes <= p.capacity_bytes)
        row.bytes = p.capacity_bytes + plan.split.over_bytes;
    return add(m, row);
}

static ons_status *find_same_work(void *context, int64_t samples, const ons_workload **work) {
    *work = context;
    return NULL;
}

static ons_status *add_flexpipe(measuring *m, const char *system, bool separate) {
    ons_flexpipe_tuner tuner = {.space = {.least_devices = m->c->devices,
                                          .most_devices = m->c->devices,
                                          .batch = m->c->micro_batches,
                                          .least_samples = 1,
                                          .most_samples = 1,
                                          .chunks = 2,
                                          .limits = true},
                                .works = {find_same_work, (void *)m->problem.work},
                                .separate = separate};
    ons_flexpipe_tuning *found;
    schedules_row row = {.system = system};
    ONS_NEW(found, m->arena, 1);
    double began = schedules_now();
    ONS_TRY(ons_flexpipe_tune(&m->problem, &tuner, m->arena, found));
    row.search_seconds = schedules_now() - began;
    row.choice = ons_flexpipe_name(&found->best.type, m->arena);
    ons_planning_problem p = m->problem;
    p.pipeline = found->best.pipeline;
    p.schedule = found->best.schedule;
    ONS_TRY(simulate(&p, found->best.first, NULL, &row));
    return add(m, row);
}

static ons_status *add_portfolio(measuring *m) {
    ons_portfolio_options options = {.strategy = ons_partition_strategy_find("auto")};
    ons_portfolio *found = &m->result->portfolio;
    schedules_row row = {.system = "**auto**", .step_seconds = INFINITY};
    double began = schedules_now();
    ONS_TRY(ons_portfolio_search(&m->problem, &options, m->arena, found));
    row.search_seconds = schedules_now() - began;
    if (found->taken < found->count) {
        const ons_portfolio_candidate *best = &found->candidates[found->taken];
        row.choice = best->name;
        row.step_seconds = best->step_seconds;
        row.bubble_share = best->bubble_share;
        row.bytes = best->memory_bytes;
    }
    return add(m, row);
}

/* ----------------------------------------------------------------------------------------------------------- a case */

static ons_status *pose(measuring *m) {
    ons_workload *work;
    ons_device_profile profile;
    ONS_NEW(work, m->arena, 1);
    ONS_TRY(vision_work_make(&m->c->work, m->arena, work));
    ONS_TRY(ons_device_profile_load(m->c->profile, m->arena, &profile));
    m->problem = (ons_planning_problem){
        .work = work,
        .pipeline = {.stages = m->c->devices, .devices = m->c->devices, .micro_batches = m->c->micro_batches},
        .capacity_bytes = profile.memory_bytes - profile.reserve_bytes,
        .link_bandwidth = profile.link_bandwidth,
        .link_latency = profile.link_latency,
        .host_bandwidth = profile.host_bandwidth,
        .host_latency = profile.host_latency,
        .memory = ons_memory_strategy_find("capuchin")};
    m->result->nodes = work->node_count;
    m->result->capacity_bytes = m->problem.capacity_bytes;
    return NULL;
}

ons_status *schedules_measure(const schedules_case *c, ons_arena *arena, schedules_result *result) {
    measuring m = {.c = c, .arena = arena, .result = result};
    *result = (schedules_result){.of = c};
    ONS_TRY(pose(&m));
    ONS_TRY(add_even_layers(&m, "Megatron, 1F1B", &ons_generator_one_f_one_b, 1));
    ONS_TRY(add_even_layers(&m, "Megatron, interleaved", &ons_generator_interleaved, 2));
    ONS_TRY(add_sharded(&m));
    ONS_TRY(add_pfeife(&m));
    ONS_TRY(add_flexpipe(&m, "FlexPipe", false));
    ONS_TRY(add_flexpipe(&m, "FlexPipe, gradients apart", true));
    return add_portfolio(&m);
}
