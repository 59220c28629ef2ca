#include <math.h>
#include <stdio.h>
#include <time.h>

#include "bench/stage_graph_lines.h"
#include "bench/stage_graph_page.h"
#include "planner/stage_graph/graphpipe.h"

/* A model on a number of devices. */
typedef struct subject {
    branch_graph graph;
    ons_planning_problem links;
    ons_graph_problem problem;
    ons_arena *arena;
} subject;

static ons_status *subject_make(const model_machine *m, model_make *make, uint32_t branches, uint32_t devices,
                                int64_t batch, subject *s) {
    s->arena = ons_arena_new();
    if (s->arena == NULL) return ons_status_out_of_memory();
    ons_status *status = make(m, branches, s->arena, &s->graph);
    if (status == NULL) status = model_problem(m, &s->graph, devices, batch, &s->links, &s->problem);
    if (status != NULL) ons_arena_free(s->arena);
    return status;
}

static void subject_free(subject *s) { ons_arena_free(s->arena); }

/* ----------------------------------------------------------------------------------------------------- search times */

/* Seconds that this process has computed: others on the machine do not count. */
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

enum { REPEATS = 3 };

/* The fastest of some searches over all sizes of micro-batches. */
static ons_status *time_search(const subject *s, ons_pace_choice paces, uint32_t repeats, double *seconds,
                               double *step) {
    *seconds = INFINITY;
    for (uint32_t i = 0; i < repeats; ++i) {
        const ons_graphpipe_options options = {.paces = paces};
        ons_graphpipe_result result;
        ons_arena *arena = ons_arena_new();
        if (arena == NULL) return ons_status_out_of_memory();
        double begin = now();
        ons_status *status = ons_graphpipe_search(&s->problem, &options, arena, &result);
        *seconds = fmin(*seconds, now() - begin);
        *step = result.feasible ? result.step_seconds : INFINITY;
        ons_arena_free(arena);
        ONS_TRY(status);
    }
    return NULL;
}

static ons_status *print_time(const model_machine *m, const model *of, uint32_t shape, uint32_t which, double *worst) {
    subject s;
    double equal, own, equal_step, own_step, paper = of->paper_seconds[which];
    ONS_TRY(subject_make(m, of->make, of->branches[shape], model_devices[which], of->batch[which], &s));
    ons_status *status = time_search(&s, ONS_PACE_EQUAL, REPEATS, &equal, &equal_step);
    if (status == NULL) status = time_search(&s, ONS_PACE_FREE, 1, &own, &own_step);
    if (status == NULL)
        printf("| %s, %s | %u | %u | %.4f | %.2f | %.0f× | %s | %.3f | %.4f |\n", of->name, of->shapes[shape],
               s.graph.count, model_devices[which], equal, paper, paper / equal, equal <= paper / 10 ? "yes" : "no",
               own, equal_step / own_step);
    fflush(stdout);
    *worst = fmax(*worst, equal / paper);
    subject_free(&s);
    return status;
}

ons_status *page_search_times(const model_machine *m) {
    double worst = 0;
    printf(
        "\n## Search\n\n"
        "Seconds of a processor, on one thread, from the costs of nodes to the plan: all sizes of micro-batches, "
        "decomposition and\n"
        "simulations included; the fastest of %d. The paper's are its Table 1's, on an Apple M1 Max. \"Own paces\": "
        "each\n"
        "stage has a size of micro-batches of its own, down to a quarter of the largest, and kFkB with k up to 2,\n"
        "beside what equal ones give.\n\n"
        "| model | nodes | devices | search | paper's | ÷ | at most a tenth | own paces: search | its step is faster "
        "by |\n"
        "|---|--:|--:|--:|--:|--:|---|--:|--:|\n",
        REPEATS);
    for (uint32_t i = 0; i < MODELS; ++i)
        for (uint32_t shape = 0; shape < 2; ++shape)
            for (uint32_t k = 0; k < MODEL_DEVICE_COUNTS; ++k) ONS_TRY(print_time(m, &models[i], shape, k, &worst));
    printf("\n");
    page_at_most("search time, in parts of the paper's (the worst)", worst, 0.1);
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------------ gains */

typedef struct gain {
    best_run line, searched, same, graph; /* `same`: stages side by side, with the line's size of micro-batches */
} gain;

static ons_status *find_gain(subject *s, uint32_t most_replicas, gain *g) {
    s->problem.most_replicas = most_replicas;
    ONS_TRY(run_best_line(&s->problem, 0, &g->line));
    ONS_TRY(run_best_graph(&s->problem, g->line.samples, &g->same));
    ONS_TRY(run_searched_line(&s->problem, &g->searched));
    return run_best_graph(&s->problem, 0, &g->graph);
}

static void print_run(const best_run *r, int64_t batch) {
    printf(" %.1f | %u × %u, %lld, %lld |", (double)batch / r->step, r->stages, r->replicas, (long long)r->samples,
           (long long)r->in_flight);
}

static void print_gain(const gain *g, int64_t batch) {
    print_run(&g->line, batch);
    printf(" %s | %.1f | %.1f |", g->line.order, (double)batch / g->line.unordered, (double)batch / g->searched.step);
    print_run(&g->graph, batch);
    printf(" **%.3f** | **%.3f** | %.3f |\n", g->line.step / g->same.step, g->line.step / g->graph.step,
           g->searched.step / g->graph.step);
    fflush(stdout);
}

static const char GAIN_HEAD[] =
    "| model | devices | line: samples a second | stages × most replicas, micro-batch, in flight | order | waiting for "
    "data alone | by the graph's search | graph: samples a second | stages × most replicas, micro-batch, in flight | "
    "parallel stages | all of it | over the searched line "
    "|\n|---|--:|--:|---|---|--:|--:|--:|---|--:|--:|--:|\n";

/* Keeps the gains on most devices, by parallel stages and by all of it. */
static ons_status *print_gains(const model_machine *m, uint32_t most_replicas, double parallel[MODELS],
                               double all[MODELS]) {
    printf("%s", GAIN_HEAD);
    for (uint32_t i = 0; i < MODELS; ++i)
        for (uint32_t shape = 0; shape < 2; ++shape)
            for (uint32_t k = 0; k < MODEL_DEVICE_COUNTS; ++k) {
                subject s;
                gain g;
                ONS_TRY(subject_make(m, models[i].make, models[i].branches[shape], model_devices[k], models[i].batch[k],
                                     &s));
                ons_status *status = find_gain(&s, most_replicas, &g);
                if (status == NULL) {
                    printf("| %s, %s | %u |", models[i].name, models[i].shapes[shape], model_devices[k]);
                    print_gain(&g, models[i].batch[k]);
                }
                subject_free(&s);
                ONS_TRY(status);
                if (k + 1 < MODEL_DEVICE_COUNTS || shape == 0) continue; /* A.2's, on 32 devices, as in Figure 9 */
                parallel[i] = g.line.step / g.same.step;
                all[i] = g.line.step / g.graph.step;
            }
    printf("\n");
    return NULL;
}

static void judge_gains(const double parallel[MODELS], const double all[MODELS]) {
    double least = fmin(parallel[0], fmin(parallel[1], parallel[2]));
    double most = fmax(parallel[0], fmax(parallel[1], parallel[2]));
    page_at_least("parallel stages on 32 devices, the model that gains least", least, 1.12);
    page_at_least("parallel stages, the model that gains most", most, 1.40);
    page_at_least("all of it, the model that gains least", fmin(all[0], fmin(all[1], all[2])), 1.25);
    page_at_least("all of it, the model that gains most", fmax(all[0], fmax(all[1], all[2])), 1.61);
}

ons_status *page_gains(const model_machine *m) {
    double parallel[MODELS], all[MODELS];
    model_machine crowded = *m;
    crowded.share = 4;
    printf("\n## Against sequential pipelines\n\n"
           "The line is the exact division of the best of four orders (by depth, the same from the end, depth first, "
           "packed),\n"
           "whose slowest stage is fastest, each stage waiting for the one before it as in the paper's baselines, at "
           "its best\n"
           "size of micro-batches; the graph is GraphPipe's search at its best size. Both may have replicas. \"Waiting "
           "for data\n"
           "alone\": the line's lists, run as onstage runs lists today, where stages wait for what they read and "
           "nothing else.\n"
           "\"By the graph's search\": lines that are searched for the step as graphs are. In flight: samples at the "
           "first stage.\n"
           "\"Parallel stages\": the graph at the line's size of micro-batches (Figure 9).\n\n");
    ONS_TRY(print_gains(m, 0, parallel, all));
    judge_gains(parallel, all);
    printf("\nThe same where a node's four GPUs share its link to others at all times (2.5e9 bytes/s each):\n\n");
    ONS_TRY(print_gains(&crowded, 0, parallel, all));
    judge_gains(parallel, all);
    printf("\nWithout replicas, as both chose in the paper's case study (not a bar; links as above them all):\n\n");
    return print_gains(m, 1, parallel, all);
}

/* ---------------------------------------------------------------------------------------------- numbers of branches */

/* `best`, `most`: at 16 branches, the gain, and what no plan could exceed on the same devices. */
static ons_status *print_branches(const model_machine *m, double *best, double *most) {
    const uint32_t branches[] = {2, 4, 8, 16};
    *best = *most = 0;
    printf("%s", GAIN_HEAD);
    for (uint32_t i = 0; i < 4; ++i)
        for (uint32_t k = 0; k < 3; ++k) {
            subject s;
            gain g;
            int64_t batch = models[2].batch[k];
            ONS_TRY(subject_make(m, model_candle, branches[i], model_devices[k], batch, &s));
            ons_status *status = find_gain(&s, 0, &g);
            if (status == NULL) {
                printf("| %u branches | %u |", branches[i], model_devices[k]);
                print_gain(&g, batch);
            }
            if (branches[i] == 16 && g.line.step / g.graph.step > *best) {
                *best = g.line.step / g.graph.step;
                *most = g.line.step / least_step(&s.problem);
            }
            subject_free(&s);
            ONS_TRY(status);
        }
    printf("\n");
    return NULL;
}

ons_status *page_branches(const model_machine *m) {
    double best, most;
    model_machine crowded = *m;
    crowded.share = 4;
    printf("\n## Numbers of branches\n\nCANDLE-Uno as in Figure 7, with A.2's mini-batches.\n\n");
    ONS_TRY(print_branches(m, &best, &most));
    page_at_least("gain at 16 branches", best, 2);
    printf("- devices that never pause, at the speed of the largest micro-batches, would gain %.3f there\n", most);
    printf("\nThe same where a node's four GPUs share its link to others at all times (2.5e9 bytes/s each):\n\n");
    ONS_TRY(print_branches(&crowded, &best, &most));
    page_at_least("gain at 16 branches", best, 2);
    printf("- devices that never pause, at the speed of the largest micro-batches, would gain %.3f there\n", most);
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------- sequential */

ons_status *page_sequential(const model_machine *m) {
    double worst = INFINITY;
    printf("\n## Sequential models\n\n"
           "A Transformer of 32 layers in a row (A.3) against the exact division of a line with replicas.\n\n"
           "| devices | line: samples a second | graph: samples a second | ÷ |\n|--:|--:|--:|--:|\n");
    for (uint32_t k = 0; k < MODEL_DEVICE_COUNTS; ++k) {
        subject s;
        best_run line, graph;
        double batch = (double)models[0].batch[k];
        ONS_TRY(subject_make(m, model_sequential, 4, model_devices[k], models[0].batch[k], &s));
        ons_status *status = run_best_line(&s.problem, 0, &line);
        if (status == NULL) status = run_best_graph(&s.problem, 0, &graph);
        if (status == NULL)
            printf("| %u | %.2f | %.2f | %.4f |\n", model_devices[k], batch / line.step, batch / graph.step,
                   line.step / graph.step);
        worst = fmin(worst, line.step / graph.step);
        subject_free(&s);
        ONS_TRY(status);
    }
    printf("\n");
    page_at_least("throughput on sequential models, in parts of the exact planner's", worst, 0.995);
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------- case study */

enum { STUDY_DEVICES = 8, STUDY_BATCH = 64 };
static const double STUDY_MICRO_BATCH_GAIN = 1.10;

/* A cap under which the graph of stages just fits with micro-batches of four samples, as in the paper it did where the
 * line did not. */
static ons_status *set_cap(subject *s) {
    const ons_graphpipe_options options = {.samples = 4};
    ons_graphpipe_result result;
    s->problem.most_replicas = 1;
    ONS_TRY(ons_graphpipe_search(&s->problem, &options, s->arena, &result));
    ONS_CHECK(result.feasible, ONS_INVALID_ARGUMENT, "the case study does not fit");
    s->links.capacity_bytes = result.graph.memory_bytes;
    s->problem.most_replicas = 0;
    return NULL;
}

typedef struct study {
    best_run line, line4, graph2, graph4, graph;
} study;

static ons_status *run_study(const model_machine *m, int64_t batch, study *x) {
    subject s;
    ONS_TRY(subject_make(m, model_case_study, 2, STUDY_DEVICES, batch, &s));
    ons_status *status = set_cap(&s);
    if (status == NULL) status = run_best_line(&s.problem, 2, &x->line);
    if (status == NULL) status = run_best_line(&s.problem, 4, &x->line4);
    if (status == NULL) status = run_best_graph(&s.problem, 2, &x->graph2);
    if (status == NULL) status = run_best_graph(&s.problem, 4, &x->graph4);
    subject_free(&s);
    return status;
}

ons_status *page_case_study(model_machine *m) {
    /* 5 stages on the longest path: B / 2 + 4 micro-batches of 2 samples against B / 4 + 4 of 4. */
    double ratio = (STUDY_BATCH / 2.0 + 4) / ((STUDY_BATCH / 4.0 + 4) * STUDY_MICRO_BATCH_GAIN);
    model_calibrate(m, ratio);
    printf("\n## The case study, and the efficiency curve\n\n"
           "Section 7.5: two branches of four layers on eight devices; micro-batches of 4 samples instead of 2 gain 10 "
           "%%.\n"
           "That figure sets the curve, before anything is measured: products of matrices take (FLOPs + h) / rate, and "
           "h is\n"
           "such that a stage's micro-batch of 4 takes %.3f times as long as one of 2, which gains 10 %% in a step of "
           "%d samples\n"
           "with five stages on the longest path: h = %.3g FLOPs. The paper says neither mini-batch nor cap: %d "
           "samples are\n"
           "A.2's for this Transformer on four devices, the power of two nearest to what 8 and 4 stages and a gain of "
           "10 %% say\n"
           "(74); the cap is what the graph takes with micro-batches of 4. Read the other way, as 10 %% of a full "
           "pipeline's\n"
           "pace, the curve would give 13 %% together and not 20: the paper's figures would contradict each other.\n\n"
           "| mini-batch | line, 2 samples | line fits 4 | graph, 2 samples | graph, 4 samples | warm-up | micro-batch "
           "| together "
           "|\n|--:|--:|---|--:|--:|--:|--:|--:|\n",
           ratio, STUDY_BATCH, m->half, STUDY_BATCH);
    study judged = {.line = {.step = 0}};
    for (int64_t batch = STUDY_BATCH / 2; batch <= 2 * STUDY_BATCH; batch *= 2) {
        study x;
        ONS_TRY(run_study(m, batch, &x));
        if (batch == STUDY_BATCH) judged = x;
        printf("| %lld | %.1f | %s | %.1f | %.1f | %.3f | %.3f | %.3f |\n", (long long)batch,
               (double)batch / x.line.step, isfinite(x.line4.step) ? "yes" : "no", (double)batch / x.graph2.step,
               (double)batch / x.graph4.step, x.line.step / x.graph2.step, x.graph2.step / x.graph4.step,
               x.line.step / x.graph4.step);
    }
    printf("\n");
    page_at_least("gain by the shorter warm-up", judged.line.step / judged.graph2.step, 1.10);
    page_at_least("gain together", judged.line.step / judged.graph4.step, 1.20);
    return NULL;
}
