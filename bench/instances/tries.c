#include "bench/instances/tries.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "planner/cost/cost_file.h"
#include "planner/schedule/action_text.h"
#include "planner/search/flexpipe_tuner.h"
#include "planner/search/graph_stages.h"
#include "planner/search/pfeife.h"
#include "planner/search/portfolio.h"

typedef struct trying {
    const instance *in;
    ons_arena *arena;   /* of the result */
    ons_arena *scratch; /* of one strategy */
    ons_planning_problem problem;
    best_try *best;
} trying;

/* A split with its lists. */
typedef struct offer {
    const char *name;
    const ons_workload *work;
    const uint32_t *first;
    const ons_stage_solution *solutions; /* NULL: all tensors stay */
    const ons_schedule *schedule;
} offer;

/* -------------------------------------------------------------------------------------------------------- solutions */

static void print_stage(FILE *out, const offer *o, uint32_t stage) {
    fprintf(out, "%s\n    {\"device\": %u, \"names\": [", stage > 0 ? "," : "", o->schedule->device_of[stage]);
    for (uint32_t i = o->first[stage]; i < o->first[stage + 1]; ++i)
        fprintf(out, "%s\"%s\"", i > o->first[stage] ? ", " : "", o->work->nodes[i].name);
    fprintf(out, "], \"recompute\": [");
    const ons_stage_solution *s = o->solutions != NULL ? &o->solutions[stage] : NULL;
    const char *between = "";
    for (uint32_t i = 0; s != NULL && i < s->decision_count; ++i) {
        if (s->decisions[i].decision != ONS_RECOMPUTE) continue;
        fprintf(out, "%s\"%s\"", between, o->work->tensors[s->decisions[i].tensor].name);
        between = ", ";
    }
    fprintf(out, "]}");
}

static void print_list(FILE *out, const ons_action_list *list, bool last) {
    fprintf(out, "    [");
    for (uint32_t i = 0; i < list->count; ++i) {
        char text[ONS_ACTION_TEXT];
        fprintf(out, "%s\"%s\"", i > 0 ? ", " : "", ons_action_print(&list->items[i], text));
    }
    fprintf(out, "]%s\n", last ? "" : ",");
}

static ons_status *print_solution(const offer *o, char **text) {
    size_t size;
    FILE *out = open_memstream(text, &size);
    ONS_CHECK(out != NULL, ONS_OUT_OF_MEMORY, "out of memory");
    fprintf(out, "{\"stages\": [");
    for (uint32_t i = 0; i < o->schedule->stages; ++i) print_stage(out, o, i);
    fprintf(out, "],\n \"actions\": [\n");
    for (uint32_t d = 0; d < o->schedule->devices; ++d)
        print_list(out, &o->schedule->lists[d], d + 1 == o->schedule->devices);
    fprintf(out, " ]}\n");
    return ons_text_close(out, text);
}

static ons_status *keep(trying *t, const offer *o, const char *json, const verdict *v) {
    best_try *b = t->best;
    ++b->valid;
    bool better = b->found_by == NULL || v->value < b->verdict.value * (1 - 1e-12) ||
                  (v->value <= b->verdict.value && v->memory_bytes < b->verdict.memory_bytes);
    if (!better) return NULL;
    b->verdict = *v;
    b->found_by = ons_arena_copy_text(t->arena, o->name);
    b->solution = ons_arena_copy_text(t->arena, json);
    return b->found_by == NULL || b->solution == NULL ? ons_status_out_of_memory() : NULL;
}

/* What is not valid is left out: the checker's memory may be more than the planner's. */
static ons_status *judge(trying *t, const offer *o) {
    verdict v;
    char *json = NULL;
    if (o->first == NULL || o->schedule == NULL) return NULL;
    ++t->best->judged;
    ons_arena *arena = ons_arena_new();
    ons_status *status = arena == NULL ? ons_status_out_of_memory() : print_solution(o, &json);
    if (status == NULL && json != NULL) {
        ons_status *invalid = instance_check(t->in, json, strlen(json), arena, &v);
        if (invalid == NULL)
            status = keep(t, o, json, &v);
        else if (ons_status_get_code(invalid) == ONS_INVALID_DATA)
            ons_status_free(invalid);
        else
            status = invalid;
    }
    free(json);
    ons_arena_free(arena);
    return status;
}

static ons_status *judge_planned(trying *t, const char *name, const ons_planned *p, const ons_schedule *schedule) {
    if (!p->partition.feasible) return NULL;
    const offer o = {name, p->problem.work, p->partition.first, p->solutions, schedule};
    return judge(t, &o);
}

/* ------------------------------------------------------------------------------------------------------- strategies */

static ons_status *try_portfolio(trying *t) {
    ons_portfolio_options options = {.strategy = ons_partition_strategy_find("auto"),
                                     .straight = t->in->stages_of_a_device == 1};
    ons_portfolio found;
    ONS_TRY(ons_portfolio_search(&t->problem, &options, t->scratch, &found));
    for (uint32_t i = 0; i < found.count; ++i) {
        const ons_portfolio_candidate *c = &found.candidates[i];
        if (!isfinite(c->step_seconds)) continue;
        ONS_TRY(judge_planned(t, ons_arena_format(t->scratch, "--pipeline auto: %s, cuts by %s", c->name, c->strategy),
                              &c->planned, c->schedule));
    }
    return NULL;
}

static ons_status *try_strategies(trying *t) {
    static const char *const names[] = {"dawnpiper", "autopipe", "pipedream", "auto", "exact"};
    static const ons_generator *const generators[] = {&ons_generator_one_f_one_b, &ons_generator_gpipe,
                                                      &ons_generator_zero_bubble};
    /* Under a cap each stage is a search of its own, and schedules that hold more seldom fit. */
    bool capped = t->in->memory_bytes > 0;
    size_t kinds = capped ? 1 : sizeof generators / sizeof *generators;
    uint32_t most_nodes = capped ? 50 : 150;
    size_t count = sizeof names / sizeof *names - (t->problem.work->node_count > most_nodes); /* "exact" takes long */
    for (size_t g = 0; g < kinds; ++g)
        for (size_t i = 0; i < count; ++i) {
            ons_planning_problem p = t->problem;
            ons_schedule schedule;
            ons_planned planned;
            p.pipeline.generator = generators[g];
            ONS_TRY(ons_schedule_make(&p.pipeline, t->scratch, &schedule));
            p.schedule = &schedule;
            ONS_TRY(ons_planner_search(&p, ons_partition_strategy_find(names[i]), t->scratch, &planned));
            const char *name =
                ons_arena_format(t->scratch, "--pipeline %s --partition %s", generators[g]->name, names[i]);
            ONS_TRY(judge_planned(t, name, &planned, &schedule));
        }
    return NULL;
}

static ons_status *try_graphpipe(trying *t) {
    ons_planning_problem p = t->problem;
    ons_graph_stages found;
    p.pipeline.generator = &ons_generator_one_f_one_b;
    ONS_TRY(ons_graph_stages_search(&p, true, t->scratch, &found));
    return judge_planned(t, "--partition graphpipe", &found.planned, found.planned.problem.schedule);
}

static ons_status *find_same_work(void *context, int64_t samples, const ons_workload **work) {
    *work = context;
    return NULL;
}

static ons_status *try_flexpipe(trying *t) {
    ons_planning_problem p = t->problem;
    ons_flexpipe_tuner tuner = {.space = {.least_devices = p.pipeline.devices,
                                          .most_devices = p.pipeline.devices,
                                          .batch = p.pipeline.micro_batches,
                                          .least_samples = 1,
                                          .most_samples = 1,
                                          .chunks = 2,
                                          .limits = true},
                                .works = {find_same_work, (void *)p.work},
                                .separate = true};
    ons_flexpipe_tuning *found;
    ONS_NEW(found, t->scratch, 1);
    ONS_TRY(ons_flexpipe_tune(&p, &tuner, t->scratch, found));
    const offer o = {"FlexPipe's tuner, gradients apart (planner/search/flexpipe_tuner.h)", p.work, found->best.first,
                     NULL, found->best.schedule};
    return judge(t, &o);
}

static ons_status *try_pfeife(trying *t) {
    ons_pfeife_options options = {.most_prefetch = ONS_PFEIFE_ANY};
    ons_pfeife_plan plan;
    ONS_TRY(ons_pfeife_search(&t->problem, &options, t->scratch, &plan));
    const offer o = {"Pfeife's search (planner/search/pfeife.h)", t->problem.work, plan.split.first, NULL,
                     plan.schedule};
    return judge(t, &o);
}

/* ------------------------------------------------------------------------------------------------------------ tries */

/* A strategy that is not for a problem says so; that is no failure of the set. */
static ons_status *attempt(trying *t, ons_status *(*strategy)(trying *t)) {
    t->scratch = ons_arena_new();
    ons_status *status = t->scratch == NULL ? ons_status_out_of_memory() : strategy(t);
    ons_arena_free(t->scratch);
    if (status != NULL && ons_status_get_code(status) == ONS_INVALID_ARGUMENT) {
        ons_status_free(status);
        status = NULL;
    }
    return status;
}

static ons_status *try_all(trying *t) {
    static ons_status *(*const strategies[])(trying * t) = {try_portfolio, try_strategies, try_graphpipe, try_flexpipe,
                                                            try_pfeife};
    for (size_t i = 0; i < sizeof strategies / sizeof *strategies; ++i) ONS_TRY(attempt(t, strategies[i]));
    return NULL;
}

ons_status *tries_run(const instance *in, const char *graph, ons_arena *arena, best_try *best) {
    /* The planner counts gaps between tensors that the checker does not, and lets senders wait where messages would
     * pile up: what fits here may be made for somewhat larger devices, or for smaller ones. */
    static const double shares[] = {1, 0.9, 1.1};
    trying t = {.in = in, .arena = arena, .best = best};
    ons_workload work;
    *best = (best_try){0};
    ONS_TRY(ons_cost_file_load(graph, NULL, arena, &work));
    t.problem = (ons_planning_problem){
        .work = &work,
        .pipeline = {.stages = in->devices, .devices = in->devices, .micro_batches = in->micro_batches},
        .link_bandwidth = in->link_bandwidth,
        .link_latency = in->link_latency,
        .memory = ons_memory_strategy_find("capuchin"),
        .objective = in->objective == STEP_SECONDS ? ONS_OBJECTIVE_BY_SCHEDULE : ONS_OBJECTIVE_BOTTLENECK};
    for (size_t i = 0; i < sizeof shares / sizeof *shares; ++i) {
        if (i > 0 && in->memory_bytes == 0) break;
        t.problem.capacity_bytes = (int64_t)((double)in->memory_bytes * shares[i]);
        ONS_TRY(try_all(&t));
    }
    return NULL;
}
