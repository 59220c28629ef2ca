#include "engine/plan/planning.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/file.h"
#include "engine/config/given.h"
#include "engine/config/schedule_file.h"
#include "engine/model/assumptions.h"
#include "engine/model/batching.h"
#include "engine/model/layer_forms.h"
#include "engine/model/results.h"
#include "engine/plan/arena_search.h"
#include "engine/plan/node_shards.h"
#include "engine/plan/planning_subject.h"
#include "engine/plan/problem.h"
#include "engine/plan/stage_choice.h"
#include "planner/cost/cost_file.h"
#include "planner/partition/devices.h"
#include "planner/search/least_memory.h"
#include "planner/workload/workload_scale.h"

static const ons_workload *work_of(const ons_planning *p) {
    return p->model == NULL ? &p->file : &p->input.costs.graph_work.work;
}

/* ---------------------------------------------------------------------------------------------------------- problem */

static ons_status *pose(ons_planning *p) {
    ONS_TRY(ons_problem_pose(p->config, p->arena, &p->profile, &p->strategy, &p->problem));
    ONS_TRY(ons_device_list_load(p->config, p->arena, &p->devices));
    ONS_CHECK(p->devices.kind_count == 0 || p->config->report == NULL, ONS_UNSUPPORTED,
              "--report is about devices that are alike, and --device-profile %s names several kinds; leave one out",
              p->config->device_profile);
    ONS_CHECK(p->devices.kind_count == 0 || !p->config->max_batch, ONS_UNSUPPORTED,
              "--max-batch is about devices that are alike, and --device-profile %s names several kinds; leave one out",
              p->config->device_profile);
    return ons_device_list_pose(&p->devices, p->config, p->arena, &p->problem);
}

/* The training graph costs something else on each kind of device. */
static ons_status *make_works(ons_planning *p, bool updates_in_backward) {
    ons_planning_device *devices;
    ons_workload *least, **of_kind;
    const ons_device_list *list = &p->devices;
    if (list->kind_count == 0) return NULL;
    ONS_NEW(devices, p->arena, list->count);
    ONS_NEW(of_kind, p->arena, list->kind_count);
    ONS_NEW(least, p->arena, 1);
    for (uint32_t i = 0; i < list->kind_count; ++i) {
        ons_plan_costs *costs;
        ONS_NEW(costs, p->arena, 1);
        ONS_TRY(ons_plan_costs_find(p->model, p->config, &list->kinds[i], &p->input.stage, updates_in_backward,
                                    p->arena, costs));
        of_kind[i] = &costs->graph_work.work;
    }
    for (uint32_t i = 0; i < list->count; ++i)
        devices[i] = (ons_planning_device){of_kind[list->kind_of[i]], p->problem.devices[i].less_bytes};
    ONS_TRY(ons_devices_least_work(devices, list->count, p->arena, least));
    p->problem.devices = devices;
    p->problem.work = least;
    return NULL;
}

/* Whether the graph sums gradients over micro-batches, or replicas do. What runs here does so where there are several
 * with one update; for other devices a pipeline is charged as published. */
static bool accumulates(const ons_planning *p, int64_t micro_batches) {
    bool several = micro_batches > 1 || p->problem.pipeline.replicas > 1;
    if (!ons_planning_is_exact(p)) return several || p->problem.pipeline.stages > 1;
    return several && !ons_pipeline_is_asynchronous(&p->problem.pipeline);
}

ons_status *ons_planning_pose(ons_planning *p, int64_t batch, int64_t micro_batches) {
    ons_plan_input_options options = {
        .model = p->model,
        .config = p->config,
        .profile = &p->profile,
        .batch = batch,
        .micro_batches = micro_batches,
        .replicas = p->config->replicas,
        .accumulates = accumulates(p, micro_batches),
        .one_stage = p->problem.pipeline.stages == 1,
        .exact = ons_planning_is_exact(p),
    };
    ons_plan_input_free(&p->input);
    if (p->model != NULL) ONS_TRY(ons_plan_input_make(&options, &p->input));
    p->problem.pipeline.micro_batches = (uint32_t)micro_batches;
    p->problem.batch = ons_batching_share(batch, micro_batches, p->config->replicas);
    p->problem.work = work_of(p);
    if (p->model != NULL)
        ONS_TRY(ons_node_shards_pose(p->config, &p->input.stage, &p->input.costs.graph_work, p->strategy, p->arena,
                                     &p->problem));
    ONS_TRY(ons_stage_choice_pose(p, &options));
    return make_works(p, options.one_stage && !options.accumulates);
}

/* ------------------------------------------------------------------------------------------------------------- plan */

static ons_status *plan_batch(ons_planning *p, int64_t batch, int64_t micro_batches) {
    ONS_TRY(ons_planning_pose(p, batch, micro_batches));
    ONS_TRY(ons_planner_search(&p->problem, p->strategy, p->arena, &p->planned));
    return ons_planning_name_subject(p, batch, micro_batches);
}

typedef struct attempt {
    ons_planning *p;
    int64_t planned;           /* the capacity that p->planned is for; 0: none */
    int64_t laid_out, largest; /* the one that p->plan is for, and what its largest arena takes; -1: none */
} attempt;

static ons_status *search_for(attempt *a, int64_t capacity) {
    ons_planning *p = a->p;
    int64_t cap = p->problem.capacity_bytes;
    if (capacity == a->planned) return NULL;
    p->problem.capacity_bytes = capacity;
    ons_status *status = ons_planner_search(&p->problem, p->strategy, p->arena, &p->planned);
    p->problem.capacity_bytes = cap;
    a->planned = status == NULL ? capacity : 0;
    return status;
}

static ons_status *try_capacity(void *context, int64_t capacity, int64_t *largest) {
    attempt *a = context;
    ons_planning *p = a->p;
    bool known = capacity == a->planned && capacity == a->laid_out;
    *largest = known ? a->largest : INT64_MAX;
    if (known) return NULL;
    ONS_TRY(search_for(a, capacity));
    if (!p->planned.partition.feasible) return NULL;
    ONS_TRY(ons_planner_fill(&p->planned, p->arena, &p->plan));
    p->plan.capacity_bytes = p->problem.capacity_bytes;
    ONS_TRY(ons_planning_make_exact(p, largest));
    a->laid_out = capacity;
    a->largest = *largest;
    return NULL;
}

static ons_status *find_least(void *context, int64_t *capacity) {
    attempt *a = context;
    ONS_TRY(search_for(a, 1)); /* what does not fit says what would */
    *capacity = a->p->planned.partition.feasible ? 1 : a->p->planned.partition.least_bytes;
    return NULL;
}

static bool keeps_everything(const ons_plan *plan) {
    uint32_t decisions = 0;
    for (uint32_t i = 0; i < plan->pipeline.stages; ++i) decisions += plan->stages[i].decision_count;
    return decisions == 0;
}

/* *largest: what the largest arena takes of the plan that was found; where none fits, of that which takes least. */
static ons_status *find_exact(ons_planning *p, int64_t *largest) {
    int64_t cap = p->problem.capacity_bytes;
    attempt a = {.p = p, .planned = cap, .laid_out = -1};
    ONS_TRY(try_capacity(&a, cap, largest));
    if (cap == 0 || (*largest <= cap && keeps_everything(&p->plan))) return NULL;
    /* The fastest of all: arenas pack better than the estimate that the cap was held to. */
    const ons_planned capped = p->planned;
    ONS_TRY(try_capacity(&a, 0, largest));
    if (*largest <= cap) return NULL;
    p->planned = capped; /* what the search begins with is not searched for again */
    a.planned = cap;
    const ons_arena_search_options options = {.attempt = try_capacity, .least = find_least, .context = &a, .cap = cap};
    return ons_arena_search(&options, largest);
}

/* The least that the usual strategies need: of real arenas, or as estimated. Leaves its own plan in *p. */
static ons_status *find_usual(ons_planning *p, int64_t *bytes) {
    ons_least_memory least;
    p->strategy = ons_partition_strategy_find(ons_usual_partition);
    p->problem.memory = ons_memory_strategy_find(ons_usual_memory);
    ONS_TRY(ons_planner_search(&p->problem, p->strategy, p->arena, &p->planned));
    if (ons_planning_is_exact(p)) return find_exact(p, bytes);
    *bytes = p->problem.capacity_bytes;
    if (p->planned.partition.feasible) return NULL;
    ONS_TRY(ons_least_memory_find(&p->problem, p->strategy, &p->planned, &least));
    *bytes = least.capacity_bytes;
    return NULL;
}

/* "; without --memory-strategy none 98.0 MiB (102760448 bytes) are enough", where that is less. */
static ons_status *add_usual(ons_planning *p, const char *asked, int64_t least, ons_status *status) {
    const ons_partition_strategy *strategy = p->strategy;
    const ons_planning_problem problem = p->problem;
    const ons_planned planned = p->planned;
    const ons_plan plan = p->plan;
    int64_t usual = 0;
    ons_status *failure = find_usual(p, &usual), *result = status;
    p->strategy = strategy;
    p->problem = problem;
    p->planned = planned;
    p->plan = plan; /* a report is about what was asked for */
    if (failure == NULL && usual < least) {
        char bytes[ONS_BYTES_TEXT];
        usual += p->profile.reserve_bytes;
        result = ons_status_new(ons_status_get_code(status), "%s; without %s %s (%" PRId64 " bytes) would do",
                                ons_status_get_message(status), asked, ons_bytes_print((double)usual, bytes), usual);
        ons_status_free(status);
    }
    ons_status_free(failure); /* the refusal is what the user asked about */
    return result;
}

/* `exact`: the least that real arenas need, those of p->plan; 0: only estimates are known. */
static ons_status *refuse(ons_planning *p, int64_t exact) {
    const char *asked;
    ONS_TRY(ons_problem_find_asked(p->config, p->arena, &asked));
    int64_t least = exact;
    ons_status *status = ons_planning_refuse(p, &least);
    if (ons_status_get_code(status) == ONS_OUT_OF_MEMORY && least > 0)
        p->least_bytes = least + p->profile.reserve_bytes;
    if (asked == NULL || ons_status_get_code(status) != ONS_OUT_OF_MEMORY || least == 0) return status;
    return add_usual(p, asked, least, status);
}

/* The plan that is found under a cap of so many bytes, where one is: a search that begins there may end with another
 * than the one that took so many, and what is told is what comes then. */
static ons_status *plan_as_told(ons_planning *p, int64_t bytes) {
    const ons_planned planned = p->planned;
    const ons_plan plan = p->plan;
    int64_t cap = p->problem.capacity_bytes, largest;
    p->problem.capacity_bytes = bytes;
    ons_status *status = ons_planner_search(&p->problem, p->strategy, p->arena, &p->planned);
    if (status == NULL) status = find_exact(p, &largest);
    p->problem.capacity_bytes = cap;
    if (status != NULL || largest <= bytes) return status;
    p->planned = planned;
    p->plan = plan;
    return NULL;
}

static ons_status *fill_exact(ons_planning *p) {
    int64_t cap = p->problem.capacity_bytes, largest;
    ONS_TRY(find_exact(p, &largest));
    if (cap == 0 || largest <= cap) return NULL;
    if (largest == INT64_MAX) return refuse(p, 0);
    ONS_TRY(plan_as_told(p, largest));
    return refuse(p, largest);
}

/* Which batches fit, before graphs are made for any of them: two small ones are drawn on. */
typedef struct estimate {
    ons_plan_input low, high;
    ons_planning_problem problem;
    const ons_partition_strategy *strategy;
    bool usable;
} estimate;

enum { ESTIMATE_LOW = 8, ESTIMATE_HIGH = 16, ROWS_MOST = 1 << 30 };

static ons_status *make_estimate(ons_planning *p, int64_t micro_batches, estimate *e) {
    *e = (estimate){.strategy = p->strategy, .usable = true};
    ons_status *status = ons_planning_pose(p, ESTIMATE_LOW * micro_batches, micro_batches);
    e->problem = p->problem;
    e->low = p->input;
    p->input = (ons_plan_input){0};
    if (status == NULL) status = ons_planning_pose(p, ESTIMATE_HIGH * micro_batches, micro_batches);
    e->high = p->input;
    p->input = (ons_plan_input){0};
    return status;
}

static ons_status *estimate_fits(estimate *e, int64_t rows, bool *fits) {
    ons_arena *arena = ons_arena_new();
    if (arena == NULL) return ons_status_out_of_memory();
    ons_workload work;
    ons_planned planned;
    ons_status *status = ons_workload_scale(&e->low.costs.graph_work.work, &e->high.costs.graph_work.work, rows, arena,
                                            &work, &e->usable);
    if (status == NULL && e->usable) {
        e->problem.work = &work;
        status = ons_planner_search(&e->problem, e->strategy, arena, &planned);
        if (status == NULL) *fits = planned.partition.feasible;
    }
    ons_arena_free(arena);
    return status;
}

/* Doubling, then halving the gap. 0: not one sample fits, or nothing can be told. */
static ons_status *estimate_rows(estimate *e, int64_t *rows) {
    int64_t fits = 0, fails = 0;
    for (int64_t next = 1; e->usable && next < ROWS_MOST && (fails == 0 || fits + 1 < fails);) {
        bool good = false;
        ONS_TRY(estimate_fits(e, next, &good));
        *(good ? &fits : &fails) = next;
        next = fails == 0 ? 2 * next : fits + (fails - fits) / 2;
        if (next == 0) break;
    }
    *rows = e->usable ? fits : 0;
    return NULL;
}

/* For this machine arenas decide: estimates can be too small, and too large. */
static ons_status *fits(ons_planning *p, int64_t rows, int64_t micro_batches, bool *good) {
    int64_t largest, cap = p->problem.capacity_bytes;
    ONS_TRY(plan_batch(p, rows * micro_batches * p->config->replicas, micro_batches));
    *good = p->planned.partition.feasible;
    if (!ons_planning_is_exact(p)) return NULL;
    ONS_TRY(find_exact(p, &largest));
    *good = cap == 0 || largest <= cap;
    return NULL;
}

/* Arenas do not grow evenly: where one sample more does not fit, two may. */
static ons_status *look_beyond(ons_planning *p, int64_t micro_batches, int64_t *most) {
    enum { BEYOND = 4 };
    int64_t step = *most / 32 + 1;
    for (int64_t i = 1; ons_planning_is_exact(p) && i <= BEYOND; ++i) {
        bool good;
        ONS_TRY(fits(p, *most + i * step, micro_batches, &good));
        if (!good) continue;
        *most += i * step;
        i = 0;
    }
    return NULL;
}

/* The largest number of samples in a micro-batch that fits. The estimate says where to look, real graphs decide: in
 * steps that double, away from it, then by halving the gap. */
static ons_status *plan_largest(ons_planning *p, int64_t micro_batches) {
    estimate e;
    int64_t rows = 0, most = 0, fails = 0, step = 1;
    ons_status *status = make_estimate(p, micro_batches, &e);
    if (status == NULL) status = estimate_rows(&e, &rows);
    ons_plan_input_free(&e.low);
    ons_plan_input_free(&e.high);
    ONS_TRY(status);
    for (rows = rows > 0 ? rows : 1; fails == 0 || most + 1 < fails; step *= 2) {
        bool good;
        ONS_TRY(fits(p, rows, micro_batches, &good));
        *(good ? &most : &fails) = rows;
        if (fails == 1 || rows >= ROWS_MOST) break;
        if (fails == 0)
            rows += step;
        else if (most == 0)
            rows = rows > step ? rows - step : 1;
        else
            rows = most + (fails - most) / 2;
    }
    if (most == 0) return NULL;
    ONS_TRY(look_beyond(p, micro_batches, &most));
    int64_t batch = most * micro_batches * p->config->replicas;
    bool last = p->plan.subject.batch == batch && !ons_planning_is_exact(p);
    return last ? NULL : plan_batch(p, batch, micro_batches);
}

static ons_status *plan_model(ons_planning *p) {
    ons_batching batching;
    ONS_TRY(ons_choose_batching(p->model, p->config, &batching));
    if (!p->config->max_batch) {
        ONS_TRY(plan_batch(p, batching.batch, batching.micro_batches));
        return ons_lone_values_refuse(p->config, p->input.stage.graph, p->input.stage.rows);
    }
    ONS_CHECK(!batching.fixed, ONS_INVALID_ARGUMENT,
              "--max-batch needs a model with a batch that is not fixed; export it with a dynamic batch axis");
    return plan_largest(p, batching.micro_batches);
}

/* Times and bytes of a cost graph are those of its micro-batches. */
static ons_status *plan_file(ons_planning *p) {
    const ons_config *c = p->config;
    ons_cost_file_options options = {.order = ONS_ORDER_DEPTH};
    ONS_CHECK(!c->max_batch, ONS_INVALID_ARGUMENT, "--max-batch: the micro-batches of a cost graph are what they are");
    ONS_TRY(ons_cost_file_load(c->cost_graph, &options, p->arena, &p->file));
    int64_t micro_batches = c->micro_batches > 0 ? c->micro_batches : c->stages, batch;
    bool fits = !__builtin_mul_overflow(micro_batches, p->file.samples, &batch) &&
                !__builtin_mul_overflow(batch, c->replicas, &batch);
    ONS_CHECK(fits, ONS_INVALID_ARGUMENT, "--micro-batches %" PRId64 " is too many", micro_batches);
    ONS_CHECK(c->batch == 0 || c->batch == batch, ONS_INVALID_ARGUMENT,
              "--batch %" PRId64 ": the micro-batches of %s have %" PRId64
              " sample%s each; give --micro-batches instead",
              c->batch, c->cost_graph, p->file.samples, p->file.samples == 1 ? "" : "s");
    return plan_batch(p, batch, micro_batches);
}

static ons_status *fill_one(ons_planning *p) {
    if (ons_planning_is_exact(p)) return fill_exact(p);
    if (!p->planned.partition.feasible) return refuse(p, 0);
    return ons_planner_fill(&p->planned, p->arena, &p->plan);
}

static void take_candidate(ons_planning *p, const ons_portfolio_candidate *c) {
    p->planned = c->planned;
    p->problem.pipeline = c->pipeline;
    p->strategy = ons_partition_strategy_find(c->strategy);
    p->plan.partition = c->strategy;
}

/* Makes its plan. *excess: what its largest arena takes, where that is more than there is; else 0. */
static ons_status *fill_candidate(ons_planning *p, const ons_portfolio_candidate *c, int64_t *excess) {
    int64_t largest, cap = p->problem.capacity_bytes;
    take_candidate(p, c);
    *excess = 0;
    if (!ons_planning_is_exact(p)) return ons_planner_fill(&p->planned, p->arena, &p->plan);
    ons_status *status = find_exact(p, &largest);
    if (status != NULL && ons_status_get_code(status) == ONS_UNSUPPORTED) {
        ons_status_free(status); /* what would be swapped or computed again cannot be in such lists */
        *excess = c->memory_bytes;
        return NULL;
    }
    *excess = cap > 0 && largest > cap ? largest : 0;
    return status;
}

/* The fastest schedule that fits as it is laid out, and its plan. portfolio.taken == count: none does. */
static ons_status *choose_schedule(ons_planning *p) {
    const ons_portfolio_options options = {.strategy = p->strategy};
    ons_portfolio *r = &p->portfolio;
    uint32_t *order, count;
    ONS_TRY(ons_portfolio_search(&p->problem, &options, p->arena, r));
    ONS_TRY(ons_portfolio_rank(r, p->arena, &order, &count));
    for (uint32_t i = 0; i < count; ++i) {
        int64_t excess;
        if (!isfinite(r->candidates[order[i]].step_seconds)) continue;
        ONS_TRY(fill_candidate(p, &r->candidates[order[i]], &excess));
        if (excess == 0) return ons_portfolio_take(r, order[i], p->arena);
        ONS_TRY(ons_portfolio_exclude(r, order[i], excess, p->problem.capacity_bytes, p->arena));
    }
    return ons_portfolio_take(r, r->count, p->arena);
}

/* Where no schedule fits, the first one does not: it says what would. */
static ons_status *fill_plan(ons_planning *p) {
    const ons_partition_strategy *strategy = p->strategy;
    const ons_planned first = p->planned;
    if (!ons_config_chooses_schedule(p->config)) return fill_one(p);
    ONS_TRY(choose_schedule(p));
    if (p->portfolio.taken < p->portfolio.count) return NULL;
    p->planned = first;
    p->problem.pipeline = first.problem.pipeline;
    p->strategy = strategy;
    p->plan.partition = strategy->name;
    return fill_one(p);
}

static ons_status *prepare(ons_planning *p, const char *path) {
    const char *cost_graph = p->config->cost_graph;
    p->arena = ons_arena_new();
    if (p->arena == NULL) return ons_status_out_of_memory();
    ONS_TRY(ons_config_follow_schedule(p->config, p->arena));
    ONS_TRY(ons_config_check_replicas(p->config));
    ONS_CHECK(path == NULL || cost_graph == NULL, ONS_INVALID_ARGUMENT,
              "either a model (%s) or --cost-graph %s is planned, not both", path, cost_graph);
    ONS_CHECK(path != NULL || cost_graph != NULL, ONS_INVALID_ARGUMENT,
              "which model? Give MODEL.onnx or --cost-graph FILE");
    ONS_TRY(pose(p));
    if (path != NULL) ONS_TRY(ons_model_open(path, p->config, true, NULL, &p->model));
    if (p->model != NULL) ONS_TRY(ons_assumptions_refuse(p->model, p->config));
    ONS_TRY(ons_check_report(p->model, p->config));
    return path != NULL ? plan_model(p) : plan_file(p);
}

ons_status *ons_planning_make(const char *path, const ons_config *config, ons_planning **result) {
    ons_planning *p = calloc(1, sizeof *p);
    *result = NULL;
    if (p == NULL) return ons_status_out_of_memory();
    ons_status *status = ons_config_copy(config, &p->config);
    if (status == NULL) status = prepare(p, path);
    if (status != NULL) {
        ons_planning_free(p);
        return status;
    }
    *result = p;
    return fill_plan(p);
}

void ons_planning_free(ons_planning *p) {
    if (p == NULL) return;
    ons_plan_input_free(&p->input);
    ons_model_free(p->model);
    ons_config_free(p->config);
    ons_arena_free(p->arena);
    free(p->report_text);
    free(p->text);
    free(p);
}

const char *ons_planning_text(const ons_planning *p) { return p == NULL ? "" : p->text; }

ons_status *ons_planning_write(const ons_planning *p, const char *path) {
    ONS_IN_C_LOCALE;
    ONS_GIVEN(p, "planning");
    ONS_GIVEN(path, "path");
    char *text;
    ONS_TRY(ons_plan_print(&p->plan, &text));
    ons_status *status = ons_file_write_text(path, text);
    free(text);
    return status;
}
