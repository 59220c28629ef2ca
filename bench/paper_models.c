#include "bench/paper_models.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "include/onstage.h"
#include "planner/partition/baselines.h"
#include "planner/partition/bisection.h"
#include "planner/partition/dawnpiper.h"
#include "planner/workload/order.h"
#include "planner/workload/zero.h"
#include "tests/rooms/planner/loads.h"

const paper_subject paper_subjects[PAPER_MODELS] = {
    {"BERT", "examples/plan/bert.onnx", {"sequence", NULL}, "tokens", "class-axis", "-1", 16, 1024, 16},
    {"GPT-2", "examples/plan/gpt2.onnx", {"sequence", NULL}, "tokens", "class-axis", "-1", 16, 2048, 2},
    {"T5", "examples/plan/t5.onnx", {"sequence", "target"}, "tokens on each side", "class-axis", "-1", 16, 1024, 35},
    {"AmoebaNet", "examples/plan/amoebanet.onnx", {"height", "width"}, "pixels", "batchnorm", "train", 32, 512, 103},
};

/* ----------------------------------------------------------------------------------------------------------- models */

static void forget_work(paper_model *m) {
    for (uint32_t i = 0; i < m->kept_count; ++i) ons_plan_input_free(&m->kept[i].input);
    m->kept_count = m->next = 0;
}

ons_status *paper_model_resize(paper_model *m, int64_t size) {
    char text[64];
    forget_work(m);
    ons_config_free(m->config);
    m->config = NULL;
    m->size = size;
    ONS_TRY(ons_config_new(&m->config));
    ONS_TRY(ons_config_set(m->config, m->subject->option, m->subject->value));
    for (int i = 0; i < 2 && m->subject->dims[i] != NULL; ++i) {
        snprintf(text, sizeof text, "%s=%lld", m->subject->dims[i], (long long)size);
        ONS_TRY(ons_config_set(m->config, "dim", text));
    }
    return NULL;
}

int64_t paper_capacity(const paper_model *m) { return m->profile.memory_bytes - m->profile.reserve_bytes; }

ons_status *paper_work(paper_model *m, int64_t rows, const ons_workload **work) {
    for (uint32_t i = 0; i < m->kept_count; ++i)
        if (m->kept[i].rows == rows) {
            *work = &m->kept[i].input.costs.graph_work.work;
            return NULL;
        }
    ons_plan_input input;
    ons_plan_input_options options = {
        .model = m->model,
        .config = m->config,
        .profile = &m->profile,
        .batch = rows,
        .micro_batches = 1,
        .accumulates = true,
        .unfused = true,
    };
    ONS_TRY_AT(ons_plan_input_make(&options, &input), "%s with %lld samples", m->subject->name, (long long)rows);
    paper_kept *slot = &m->kept[m->next];
    if (m->kept_count == PAPER_KEPT)
        ons_plan_input_free(&slot->input);
    else
        ++m->kept_count;
    m->next = (m->next + 1) % PAPER_KEPT;
    *slot = (paper_kept){rows, input};
    *work = &slot->input.costs.graph_work.work;
    return NULL;
}

static ons_status *zero_fits(paper_model *m, int level, uint32_t devices, int64_t rows, bool *fits) {
    const ons_workload *work;
    ons_zero_memory memory;
    ONS_TRY(paper_work(m, rows, &work));
    ons_zero_memory_find(work, level, devices, &memory);
    *fits = memory.total <= paper_capacity(m);
    return NULL;
}

/* While a node's backward part runs, all that it reads and makes is on the device, wherever the rest is. */
static ons_status *ceiling_fits(paper_model *m, int64_t rows, bool *fits) {
    static const ons_stage_load one = {.in_flight = 1, .versions = 1, .accumulates = true};
    const ons_workload *work;
    ONS_TRY(paper_work(m, rows, &work));
    *fits = true;
    for (uint32_t i = 0; i < work->node_count && *fits; ++i) {
        ons_stage_memory memory;
        ons_work_stage_memory(work, i, i + 1, &one, &memory);
        *fits = memory.total - memory.transfers <= paper_capacity(m);
    }
    return NULL;
}

/* How many bytes of saved tensors all devices can hold at most, if weights and tensors could be cut anywhere: a stage
 * with k micro-batches in flight holds k times its own, beside its weights with their versions, gradients and states.
 * Weights go where they cost the fewest saved bytes. */
static double most_saved(const paper_model *m, const ons_workload *work, const ons_pipeline *pipeline) {
    double trained = 0, held = 0, left = 1, saved = 0, capacity = (double)paper_capacity(m);
    bool taken[PAPER_STAGES_MAX] = {false};
    for (uint32_t i = 0; i < work->weight_count; ++i) {
        const ons_work_weight *w = &work->weights[i];
        if (w->gradient_bytes > 0) trained += (double)w->bytes;
        held += (double)(w->bytes + w->gradient_bytes + w->state_bytes);
    }
    for (uint32_t round = 0; round < pipeline->stages; ++round) {
        uint32_t best = 0;
        double least = INFINITY, whole = 0;
        for (uint32_t x = 0; x < pipeline->stages; ++x) {
            ons_stage_load load = load_of_stage(pipeline, x);
            double bytes = held + trained * (load.versions - 1);
            if (taken[x] || bytes / load.in_flight >= least) continue;
            best = x;
            least = bytes / load.in_flight;
            whole = bytes;
        }
        double share = fmin(left, whole > 0 ? capacity / whole : 0);
        taken[best] = true;
        left -= share;
        saved += (capacity - share * whole) / load_of_stage(pipeline, best).in_flight;
    }
    return left > 1e-9 ? 0 : saved;
}

static ons_status *plain_ceiling_fits(paper_model *m, const paper_method *method, uint32_t stages, int64_t rows,
                                      bool *fits) {
    const ons_workload *work;
    double saved = 0;
    ONS_TRY(paper_work(m, rows, &work));
    for (uint32_t i = 0; i < work->tensor_count; ++i)
        if (work->tensors[i].saver_count > 0) saved += (double)work->tensors[i].bytes;
    const ons_pipeline pipeline = {.generator = method->kind, .stages = stages, .micro_batches = stages};
    *fits = saved <= most_saved(m, work, &pipeline);
    return NULL;
}

/* Larger samples never need less memory, so the sizes are bisected. */
static ons_status *calibrate(paper_model *m) {
    const paper_subject *s = m->subject;
    int64_t least = 1, most = s->most / s->step;
    while (least < most) {
        int64_t middle = (least + most + 1) / 2;
        bool fits;
        ONS_TRY(paper_model_resize(m, middle * s->step));
        ONS_TRY(zero_fits(m, 2, 4, s->zero2_samples, &fits));
        if (fits)
            least = middle;
        else
            most = middle - 1;
    }
    return paper_model_resize(m, least * s->step);
}

static ons_status *open_model(paper_model *m, const char *profile) {
    m->arena = ons_arena_new();
    if (m->arena == NULL) return ons_status_out_of_memory();
    ONS_TRY(ons_device_profile_load(profile, m->arena, &m->profile));
    ONS_TRY(paper_model_resize(m, m->subject->step));
    ONS_TRY(ons_model_open(m->subject->path, m->config, true, NULL, &m->model));
    return calibrate(m);
}

ons_status *paper_model_open(const paper_subject *subject, const char *profile, paper_model *m) {
    *m = (paper_model){.subject = subject};
    ons_status *status = open_model(m, profile);
    if (status != NULL) paper_model_close(m);
    return status;
}

void paper_model_close(paper_model *m) {
    forget_work(m);
    ons_model_free(m->model);
    ons_config_free(m->config);
    ons_arena_free(m->arena);
    *m = (paper_model){0};
}

/* ----------------------------------------------------------------------------------------------------------- search */

static ons_status *pose(paper_model *m, const paper_method *method, uint32_t stages, int64_t rows,
                        ons_planning_problem *problem) {
    *problem = (ons_planning_problem){
        .pipeline = {.generator = method->kind, .stages = stages, .micro_batches = stages},
        .capacity_bytes = paper_capacity(m),
        .link_bandwidth = m->profile.link_bandwidth,
        .link_latency = m->profile.link_latency,
        .host_bandwidth = method->flags & PAPER_NO_SWAP ? 0 : m->profile.host_bandwidth,
        .host_latency = m->profile.host_latency,
        .memory = ons_memory_strategy_find(method->memory),
    };
    ONS_CHECK(problem->memory != NULL, ONS_DEFECT, "there is no memory strategy %s", method->memory);
    return paper_work(m, rows, &problem->work);
}

static ons_status *split_by_algorithm_2(ons_stage_costs *costs, ons_arena *arena, ons_partition *partition) {
    const ons_planning_problem *p = ons_stage_costs_problem(costs);
    const ons_cut_range all = {0, p->work->node_count, 0, p->pipeline.stages - 1};
    *partition = (ons_partition){.stages = p->pipeline.stages};
    ONS_NEW(partition->first, arena, (size_t)p->pipeline.stages + 1);
    for (uint32_t i = 1; i < p->pipeline.stages; ++i) partition->first[i] = ons_balance(p, &all, i - 1).memory;
    partition->first[p->pipeline.stages] = p->work->node_count;
    return ons_partition_evaluate(costs, partition);
}

static ons_status *find_strategy(const char *name, const ons_partition_strategy **strategy) {
    static const ons_partition_strategy algorithm_2 = {PAPER_ALGORITHM_2, split_by_algorithm_2, ""};
    *strategy = strcmp(name, PAPER_ALGORITHM_2) == 0 ? &algorithm_2 : ons_partition_strategy_find(name);
    ONS_CHECK(*strategy != NULL, ONS_DEFECT, "there is no partition strategy %s", name);
    return NULL;
}

ons_status *paper_plan(paper_model *m, const paper_method *method, uint32_t stages, int64_t rows, ons_arena *arena,
                       ons_planned *planned) {
    ons_planning_problem problem;
    const ons_partition_strategy *strategy;
    ONS_TRY(find_strategy(method->partition, &strategy));
    ONS_TRY(pose(m, method, stages, rows, &problem));
    return ons_planner_search(&problem, strategy, arena, planned);
}

/* Without the search for the least memory that would do, which a strategy makes where it fails. `auto` finds what
 * DawnPiper finds, and stages as long as they can be; the fastest plan is not asked for here. */
static ons_status *attempt(const ons_planning_problem *problem, bool dawnpiper, ons_arena *arena, bool *fits) {
    ons_stage_costs *costs;
    uint32_t *first, cuts = 0;
    ONS_NEW(first, arena, (size_t)problem->pipeline.stages + 1);
    ONS_TRY(ons_stage_costs_new(problem, &costs));
    ons_status *status = dawnpiper ? ons_dawnpiper_search(costs, INFINITY, first, fits, &cuts)
                                   : ons_bisection_attempt(costs, NULL, fits);
    ons_stage_costs_free(costs);
    return status;
}

/* In any of the orders that the planner tries. */
static ons_status *any_fits(const ons_planning_problem *problem, bool dawnpiper, ons_arena *arena, bool *fits) {
    ONS_TRY(attempt(problem, dawnpiper, arena, fits));
    for (int kind = 0; !*fits && kind < ONS_ORDER_PACKED; ++kind) {
        uint32_t *order;
        ons_workload *work;
        ons_planning_problem reordered = *problem;
        ONS_NEW(work, arena, 1);
        ONS_TRY(ons_work_order(problem->work, (ons_order_kind)kind, problem->pipeline.stages, arena, &order));
        ONS_TRY(ons_work_reorder(problem->work, order, arena, work));
        reordered.work = work;
        ONS_TRY(attempt(&reordered, dawnpiper, arena, fits));
    }
    return NULL;
}

/* What auto falls back on. */
static ons_status *any_baseline_fits(ons_stage_costs *costs, ons_arena *arena, bool *fits) {
    ons_baseline_splits splits;
    uint32_t stages = ons_stage_costs_problem(costs)->pipeline.stages;
    ONS_TRY(ons_baselines_split(costs, arena, &splits));
    for (uint32_t k = 0; k < splits.count && !*fits; ++k) {
        *fits = true;
        for (uint32_t i = 0; i < stages && *fits; ++i)
            ONS_TRY(ons_stage_costs_fits(costs, splits.first[k][i], splits.first[k][i + 1], i, fits));
    }
    return NULL;
}

static ons_status *baseline_fits(const ons_planning_problem *problem, ons_arena *arena, bool *fits) {
    ons_stage_costs *costs;
    ONS_TRY(ons_stage_costs_new(problem, &costs));
    ons_status *status = any_baseline_fits(costs, arena, fits);
    ons_stage_costs_free(costs);
    return status;
}

static ons_status *blind_fits(const ons_planning_problem *problem, const paper_method *method, ons_arena *arena,
                              bool *fits) {
    ons_planned planned;
    ons_stage_costs *costs;
    ons_planning_problem blind = *problem;
    blind.capacity_bytes = 0;
    ONS_TRY(ons_planner_search(&blind, ons_partition_strategy_find(method->partition), arena, &planned));
    ONS_TRY(ons_stage_costs_new(problem, &costs));
    ons_status *status = ons_partition_evaluate(costs, &planned.partition);
    ons_stage_costs_free(costs);
    *fits = planned.partition.feasible;
    return status;
}

static ons_status *pipeline_fits_in(paper_model *m, const paper_method *method, uint32_t stages, int64_t rows,
                                    ons_arena *arena, bool *fits) {
    ons_planned planned;
    ons_planning_problem problem;
    bool dawnpiper = strcmp(method->partition, "dawnpiper") == 0;
    bool automatic = strcmp(method->partition, "auto") == 0;
    *fits = false;
    ONS_TRY(pose(m, method, stages, rows, &problem));
    if (automatic) ONS_TRY(any_fits(&problem, false, arena, fits));
    if (dawnpiper || (automatic && !*fits)) ONS_TRY(any_fits(&problem, true, arena, fits));
    if (automatic && !*fits) ONS_TRY(baseline_fits(&problem, arena, fits));
    if (dawnpiper || automatic) return NULL;
    if (method->flags & PAPER_BLIND) return blind_fits(&problem, method, arena, fits);
    ONS_TRY(paper_plan(m, method, stages, rows, arena, &planned));
    *fits = planned.partition.feasible;
    return NULL;
}

static ons_status *pipeline_fits(paper_model *m, const paper_method *method, uint32_t stages, int64_t rows,
                                 bool *fits) {
    ons_arena *arena = ons_arena_new();
    if (arena == NULL) return ons_status_out_of_memory();
    ons_status *status = pipeline_fits_in(m, method, stages, rows, arena, fits);
    ons_arena_free(arena);
    return status;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Large numbers are tried in steps of at most 1/64 of themselves: it is enough for a table, and methods then ask about
 * the same workloads, whose graphs take longer to build than most plans. */
static int64_t grain_of(int64_t rows) {
    int64_t grain = 1;
    while (rows >= 128 * grain) grain *= 2;
    return grain;
}

static int64_t on_grain(int64_t rows) { return rows / grain_of(rows) * grain_of(rows); }

static ons_status *try_rows(paper_model *m, const paper_method *method, uint32_t stages, int64_t rows, bool *fits) {
    if (method->zero == PAPER_PLAIN_CEILING) return plain_ceiling_fits(m, method, stages, rows, fits);
    if (method->zero == PAPER_CEILING) return ceiling_fits(m, rows, fits);
    if (method->zero > 0) return zero_fits(m, method->zero, stages, rows, fits);
    return pipeline_fits(m, method, stages, rows, fits);
}

/* From a guess outwards in growing steps, then halving the gap. */
ons_status *paper_largest(paper_model *m, const paper_method *method, uint32_t stages, int64_t *rows) {
    int64_t fits = 0, fails = 0, stride = *rows / 8 + 1;
    double start = now();
    for (int64_t next = *rows > 0 ? on_grain(*rows) : 1; fails == 0 || fits + grain_of(fits) < fails;) {
        bool is_enough;
        ONS_TRY_AT(try_rows(m, method, stages, next, &is_enough), "%s, %lld samples, %u stages, %s", m->subject->name,
                   (long long)next, stages, method->title);
        *(is_enough ? &fits : &fails) = next;
        if (fails == 0 || fits == 0) {
            next = fails == 0 ? fits + stride : fails - stride;
            stride *= 2;
        } else {
            next = fits + (fails - fits) / 2;
        }
        next = on_grain(next > 1 ? next : 1);
        if (next == fails) break; /* not even one */
    }
    *rows = fits;
    fprintf(stderr, "%-9s %u stages  %-34s %5lld samples a micro-batch, found in %.1f s\n", m->subject->name, stages,
            method->title, (long long)fits, now() - start);
    return NULL;
}
