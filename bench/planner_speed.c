/* How long planning takes: transformer workloads of growing size, split by dawnpiper and by auto, with memory so short
 * that stages swap or recompute. bench/README.md says how it is run.
 *
 *   planner_speed table     a Markdown table
 *   planner_speed plans     the same of the whole planner: all orders of the nodes, the choice by the step
 *   planner_speed refusals  the same where nothing fits, by far or nearly
 *   planner_speed series    nodes, stages, seconds of each strategy: columns for gnuplot
 *
 * A second argument names the memory strategy, a third one a workload (of table, plans, refusals) and a fourth one the
 * number of its stages, for profilers.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "planner/search/planner.h"
#include "planner/simulate/pipeline_simulation.h"
#include "tests/rooms/planner/transformer_work.h"

static const ons_generator *const schedules[] = {&ons_generator_gpipe, &ons_generator_one_f_one_b,
                                                 &ons_generator_pipedream};

typedef struct size {
    const char *name;
    transformer_work_options options;
    uint32_t stages;
    double share; /* of what weights leave of an even split that there is memory for */
} size;

/* What the command asks for. */
typedef struct request {
    const char *memory, *workload; /* NULL: all */
    uint32_t stages;               /* 0: any */
} request;

static bool is_wanted(const request *r, const size *s) {
    return (r->workload == NULL || strcmp(r->workload, s->name) == 0) && (r->stages == 0 || r->stages == s->stages);
}

typedef struct timing {
    double seconds;
    ons_partition partition;
    uint64_t evaluated;
    uint32_t optimised; /* stages that swap or recompute */
} timing;

/* Of the processor: planning is one thread's work, and machines have other work to do. */
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static ons_status *count_optimised(ons_stage_costs *costs, timing *t) {
    t->optimised = 0;
    for (uint32_t i = 0; t->partition.feasible && i < t->partition.stages; ++i) {
        ons_stage_evaluation v;
        ONS_TRY(ons_stage_costs_evaluate(costs, t->partition.first[i], t->partition.first[i + 1], i, &v));
        t->optimised += v.optimised;
    }
    return NULL;
}

/* The fastest of a few runs, the costs of stages and their memory included. */
static ons_status *measure(const ons_planning_problem *problem, const char *strategy, ons_arena *arena, timing *t) {
    t->seconds = 1e9;
    double began = now();
    for (int run = 0; run < 5 && (run == 0 || now() - began < 1); ++run) {
        ons_stage_costs *costs;
        double start = now();
        ONS_TRY(ons_stage_costs_new(problem, &costs));
        ons_status *status = ons_partition_strategy_find(strategy)->search(costs, arena, &t->partition);
        t->evaluated = ons_stage_costs_count(costs);
        double took = now() - start;
        if (took < t->seconds) t->seconds = took;
        if (status == NULL) status = count_optimised(costs, t);
        ons_stage_costs_free(costs);
        ONS_TRY(status);
    }
    return NULL;
}

static double gap(const timing *t, const timing *to) {
    return t->partition.feasible && to->partition.feasible
               ? 100 * (t->partition.bottleneck_seconds / to->partition.bottleneck_seconds - 1)
               : NAN;
}

static void print_row(const size *s, const ons_workload *work, const char *pipeline, const timing *d, const timing *a,
                      const timing *e) {
    printf("| %s | %u | %u | %s | %.1f | %lu | %u | %.2f | %.1f | %lu | %.3f | %u |\n", s->name, work->node_count,
           s->stages, pipeline, d->seconds * 1e3, d->evaluated, d->partition.candidate_cuts, gap(d, e),
           a->seconds * 1e3, a->evaluated, gap(a, e), a->optimised);
}

static ons_status *plan(const size *s, const ons_generator *kind, const char *memory, bool series) {
    ons_arena *arena = ons_arena_new();
    ons_workload work;
    timing dawnpiper = {0}, automatic = {0}, exact = {0};
    ons_status *status = arena == NULL ? ons_status_out_of_memory() : transformer_work_make(&s->options, arena, &work);
    if (status == NULL) {
        ons_planning_problem p = {.work = &work,
                                  .pipeline = {kind, s->stages, 2 * s->stages, 0},
                                  .link_bandwidth = 25e9,
                                  .link_latency = 1e-5,
                                  .host_bandwidth = 25e9,
                                  .host_latency = 1e-5,
                                  .memory = ons_memory_strategy_find(memory)};
        p.capacity_bytes = transformer_work_capacity(&work, &p.pipeline, s->share);
        status = measure(&p, "dawnpiper", arena, &dawnpiper);
        if (status == NULL) status = measure(&p, "auto", arena, &automatic);
        if (status == NULL && !series && work.node_count < 3000) status = measure(&p, "exact", arena, &exact);
    }
    if (status == NULL && series) {
        printf("%u %u %.6f %.6f\n", work.node_count, s->stages, dawnpiper.seconds, automatic.seconds);
    } else if (status == NULL) {
        print_row(s, &work, kind->name, &dawnpiper, &automatic, &exact);
    }
    fflush(stdout);
    ons_arena_free(arena);
    return status;
}

static ons_status *print_table(const request *r) {
    const size sizes[] = {
        {"BERT, 340 M", transformer_work_bert(32), 4, 0.6},
        {"BERT, 340 M", transformer_work_bert(32), 8, 0.6},
        {"48 layers", {48, 1024, 16, 512, 32, 30522}, 8, 0.6},
        {"96 layers", {96, 1024, 16, 512, 32, 30522}, 16, 0.6},
        {"GPT-3, 175 B", transformer_work_gpt3(1), 64, 0.6},
        {"GPT-3, 175 B, tight", transformer_work_gpt3(1), 64, 0.2},
    };
    printf("| workload | nodes | stages | schedule | dawnpiper ms | stages judged | candidate cuts | slower than exact "
           "%% | auto ms | stages judged | slower than exact %% | stages optimised |\n"
           "|---|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i)
        for (size_t g = 0; g < sizeof schedules / sizeof *schedules; ++g)
            if (is_wanted(r, &sizes[i])) ONS_TRY(plan(&sizes[i], schedules[g], r->memory, false));
    return NULL;
}

static ons_status *print_series(const char *memory) {
    const uint32_t stages[] = {8, 64}, most_layers[] = {320, 2000};
    for (size_t i = 0; i < 2; ++i) {
        for (uint32_t layers = 20; layers <= most_layers[i]; layers = layers * 10 / 4) {
            size s = {"", {layers, 1024, 16, 512, 8, 30522}, stages[i], 0.6};
            ONS_TRY(plan(&s, &ons_generator_one_f_one_b, memory, true));
        }
        printf("\n\n");
    }
    return NULL;
}

/* ------------------------------------------------------------------------------------------------ the whole planner */

static ons_status *simulate(const ons_planned *planned, double *step) {
    ons_pipeline_forecast forecast;
    ons_pipeline_setup setup = {.problem = &planned->problem,
                                .first = planned->partition.first,
                                .solutions = planned->solutions,
                                .times_alone = true};
    ons_arena *scratch = ons_arena_new();
    if (scratch == NULL) return ons_status_out_of_memory();
    ons_status *status = ons_pipeline_simulate(&setup, scratch, &forecast);
    if (status == NULL) {
        *step = forecast.iteration_seconds;
        ons_simulation_free(forecast.simulation);
    }
    ons_arena_free(scratch);
    return status;
}

/* `step`: seconds, as simulated; 0 where nothing fits. */
static ons_status *plan_all(const ons_planning_problem *p, ons_planned *planned, double *seconds, double *step) {
    *seconds = 1e9;
    *step = 0;
    double began = now();
    for (int run = 0; run < 5 && (run == 0 || now() - began < 1); ++run) {
        ons_arena *arena = ons_arena_new();
        if (arena == NULL) return ons_status_out_of_memory();
        double start = now();
        ons_status *status = ons_planner_search(p, ons_partition_strategy_find("auto"), arena, planned);
        if (now() - start < *seconds) *seconds = now() - start;
        if (status == NULL && run == 0 && planned->partition.feasible) status = simulate(planned, step);
        ons_arena_free(arena);
        ONS_TRY(status);
    }
    return NULL;
}

static ons_status *print_plan(const size *s, const ons_planning_problem *p) {
    ons_planned planned;
    double seconds, step;
    ONS_TRY(plan_all(p, &planned, &seconds, &step));
    printf("| %s | %u | %u | %s | %.1f | %.2f | %.2f |\n", s->name, p->work->node_count, s->stages,
           p->pipeline.generator->name, seconds * 1e3, planned.partition.bottleneck_seconds * 1e3, step * 1e3);
    return NULL;
}

/* The least capacity that auto knows of, and times to refuse 2 % and 50 % less. */
static ons_status *print_refusal(const size *s, ons_planning_problem *p) {
    ons_planned planned;
    double seconds, nearly, by_far, step;
    p->capacity_bytes = 1;
    ONS_TRY(plan_all(p, &planned, &seconds, &step));
    int64_t least = planned.partition.least_bytes;
    p->capacity_bytes = least - least / 50;
    ONS_TRY(plan_all(p, &planned, &nearly, &step));
    bool fits = planned.partition.feasible;
    p->capacity_bytes = least / 2;
    ONS_TRY(plan_all(p, &planned, &by_far, &step));
    printf("| %s | %u | %u | %s | %.1f | %.1f%s | %.1f |\n", s->name, p->work->node_count, s->stages,
           p->pipeline.generator->name, (double)least / (1 << 20), nearly * 1e3, fits ? " (fits)" : "", by_far * 1e3);
    return NULL;
}

static ons_status *with_problem(const size *s, const ons_generator *kind, const char *memory, bool refusal) {
    ons_arena *arena = ons_arena_new();
    ons_workload work;
    ons_status *status = arena == NULL ? ons_status_out_of_memory() : transformer_work_make(&s->options, arena, &work);
    if (status == NULL) {
        ons_planning_problem p = {.work = &work,
                                  .pipeline = {kind, s->stages, 2 * s->stages, 0},
                                  .link_bandwidth = 25e9,
                                  .link_latency = 1e-5,
                                  .host_bandwidth = 25e9,
                                  .host_latency = 1e-5,
                                  .memory = ons_memory_strategy_find(memory)};
        p.capacity_bytes = transformer_work_capacity(&work, &p.pipeline, s->share);
        status = refusal ? print_refusal(s, &p) : print_plan(s, &p);
    }
    fflush(stdout);
    ons_arena_free(arena);
    return status;
}

static ons_status *print_whole(const request *r, bool refusal) {
    const size sizes[] = {
        {"2 layers", {2, 256, 4, 128, 8, 1000}, 4, 0.6},       {"6 layers", {6, 512, 8, 256, 8, 30522}, 4, 0.6},
        {"BERT, 340 M", transformer_work_bert(32), 4, 0.6},    {"BERT, 340 M", transformer_work_bert(32), 8, 0.6},
        {"48 layers", {48, 1024, 16, 512, 32, 30522}, 8, 0.6}, {"GPT-3, 175 B", transformer_work_gpt3(1), 64, 0.6},
    };
    printf(refusal ? "| workload | nodes | stages | schedule | least MiB | refusing 2 %% less, ms | refusing half, ms "
                     "|\n|---|---|---|---|---|---|---|\n"
                   : "| workload | nodes | stages | schedule | planned in ms | slowest stage ms | step ms |\n"
                     "|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i)
        for (size_t g = 0; g < sizeof schedules / sizeof *schedules; ++g)
            if (is_wanted(r, &sizes[i])) ONS_TRY(with_problem(&sizes[i], schedules[g], r->memory, refusal));
    return NULL;
}

int main(int argument_count, char **arguments) {
    request r = {.memory = argument_count > 2 ? arguments[2] : "capuchin",
                 .workload = argument_count > 3 ? arguments[3] : NULL,
                 .stages = argument_count > 4 ? (uint32_t)atoi(arguments[4]) : 0};
    bool table = argument_count > 1 && strcmp(arguments[1], "table") == 0;
    bool series = argument_count > 1 && strcmp(arguments[1], "series") == 0;
    bool plans = argument_count > 1 && strcmp(arguments[1], "plans") == 0;
    bool refusals = argument_count > 1 && strcmp(arguments[1], "refusals") == 0;
    if (!table && !series && !plans && !refusals) {
        fprintf(stderr, "usage: planner_speed table|plans|refusals|series [MEMORY STRATEGY [WORKLOAD [STAGES]]]\n");
        return 2;
    }
    ons_status *status = table ? print_table(&r) : series ? print_series(r.memory) : print_whole(&r, refusals);
    if (status == NULL) return 0;
    fprintf(stderr, "planner_speed: %s\n", ons_status_get_message(status));
    ons_status_free(status);
    return 1;
}
