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
#include "planner/workload/workload_scale.h"

typedef struct trying {
    const instance *in;
    ons_arena *arena;   /* of the result */
    ons_arena *scratch; /* of one strategy */
    ons_planning_problem problem;
    const ons_workload *const *works; /* [i]: of 2^i micro-batches at once */
    uint32_t work_count;
    uint32_t at_once, copies; /* of all stages, where a strategy knows one size and no copies */
    best_try *best;
} trying;

/* A split with its lists. */
typedef struct offer {
    const char *name;
    const ons_workload *work;
    const uint32_t *first;
    const ons_stage_solution *solutions; /* NULL: all tensors stay */
    const ons_schedule *schedule;        /* of one copy of all */
    uint32_t at_once, copies;            /* of every stage, beside the schedule's own */
} offer;

/* -------------------------------------------------------------------------------------------------------- solutions */

static void print_recomputed(FILE *out, const offer *o, const ons_stage_solution *s) {
    const char *between = "";
    fprintf(out, ", \"recompute\": [");
    for (uint32_t i = 0; i < s->decision_count; ++i) {
        if (s->decisions[i].decision != ONS_RECOMPUTE) continue;
        fprintf(out, "%s\"%s\"", between, o->work->tensors[s->decisions[i].tensor].name);
        between = ", ";
    }
    fprintf(out, "]");
}

static void print_swapped(FILE *out, const offer *o, const ons_stage_solution *s) {
    const ons_work_node *nodes = o->work->nodes;
    const char *between = "";
    fprintf(out, ", \"swap\": [");
    for (uint32_t i = 0; i < s->decision_count; ++i) {
        const ons_tensor_decision *d = &s->decisions[i];
        if (d->decision != ONS_SWAP) continue;
        fprintf(out, "%s{\"tensor\": \"%s\", \"out_after\": \"%s\", \"in_before\": \"%s\"", between,
                o->work->tensors[d->tensor].name, nodes[d->out_after].name, nodes[d->in_before].name);
        if (d->gone_before != ONS_NO_NODE) fprintf(out, ", \"gone_before\": \"%s\"", nodes[d->gone_before].name);
        fprintf(out, "}");
        between = ", ";
    }
    fprintf(out, "]");
}

static void print_stage(FILE *out, const offer *o, uint32_t stage) {
    ons_stage_grouping g = ons_schedule_grouping(o->schedule, stage);
    uint32_t at_once = g.size * o->at_once, copies = g.copies * o->copies;
    fprintf(out, "%s\n    {\"device\": %u, ", stage > 0 ? "," : "", o->schedule->device_of[stage] * o->copies);
    if (at_once > 1) fprintf(out, "\"micro_batch\": %u, ", at_once);
    if (copies > 1) fprintf(out, "\"replicas\": %u, ", copies);
    fprintf(out, "\"names\": [");
    for (uint32_t i = o->first[stage]; i < o->first[stage + 1]; ++i)
        fprintf(out, "%s\"%s\"", i > o->first[stage] ? ", " : "", o->work->nodes[i].name);
    fprintf(out, "]");
    if (o->solutions != NULL) print_recomputed(out, o, &o->solutions[stage]);
    if (o->solutions != NULL) print_swapped(out, o, &o->solutions[stage]);
    fprintf(out, "}");
}

/* `copy`: of all that the list has, where there are several. */
static void print_list(FILE *out, const ons_action_list *list, uint32_t copy, bool last) {
    fprintf(out, "    [");
    for (uint32_t i = 0; i < list->count; ++i) {
        char text[ONS_ACTION_TEXT];
        ons_action a = list->items[i];
        if (copy > 0) a.copy = copy;
        fprintf(out, "%s\"%s\"", i > 0 ? ", " : "", ons_action_print(&a, text));
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
        for (uint32_t c = 0; c < o->copies; ++c)
            print_list(out, &o->schedule->lists[d], c, d + 1 == o->schedule->devices && c + 1 == o->copies);
    fprintf(out, " ]}\n");
    return ons_text_close(out, text);
}

static ons_status *keep(trying *t, const offer *o, const char *json, const check_result *v) {
    best_try *b = t->best;
    ++b->valid;
    bool better = b->found_by == NULL || v->value < b->check_result.value * (1 - 1e-12) ||
                  (v->value <= b->check_result.value && v->memory_bytes < b->check_result.memory_bytes);
    if (!better) return NULL;
    b->check_result = *v;
    const char *all = o->at_once * o->copies > 1
                          ? ons_arena_format(t->arena, ", %u micro-batches at once, %u copies", o->at_once, o->copies)
                          : "";
    b->found_by = ons_arena_format(t->arena, "%s%s", o->name, all);
    b->solution = ons_arena_copy_text(t->arena, json);
    return b->found_by == NULL || b->solution == NULL ? ons_status_out_of_memory() : NULL;
}

/* What is not valid is left out: the checker's memory may be more than the planner's. */
static ons_status *judge(trying *t, const offer *o) {
    check_result v;
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
    const offer o = {name, p->problem.work, p->partition.first, p->solutions, schedule, t->at_once, t->copies};
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

/* Sizes and copies by stage. */
static ons_status *try_groupings(trying *t) {
    ons_planning_problem p = t->problem;
    const ons_stage_choice choice = {.sizes = t->work_count > 1,
                                     .replicas = t->in->copies_of_a_stage > 1,
                                     .works = t->works,
                                     .work_count = t->work_count};
    ons_graph_stages found;
    if (t->at_once * t->copies > 1 || (!choice.sizes && !choice.replicas)) return NULL;
    p.pipeline.generator = &ons_generator_one_f_one_b;
    p.choice = &choice;
    ONS_TRY(ons_graph_stages_search(&p, true, t->scratch, &found));
    return judge_planned(t,
                         choice.sizes ? "--partition graphpipe --stage-sizes free --stage-replicas free"
                                      : "--partition graphpipe --stage-replicas free",
                         &found.planned, found.planned.problem.schedule);
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
    const offer o = {"FlexPipe's tuner, gradients apart (planner/search/flexpipe_tuner.h)",
                     p.work,
                     found->best.first,
                     NULL,
                     found->best.schedule,
                     t->at_once,
                     t->copies};
    return judge(t, &o);
}

static ons_status *try_pfeife(trying *t) {
    ons_pfeife_options options = {.most_prefetch = ONS_PFEIFE_ANY};
    ons_pfeife_plan plan;
    ONS_TRY(ons_pfeife_search(&t->problem, &options, t->scratch, &plan));
    const offer o = {"Pfeife's search (planner/search/pfeife.h)",
                     t->problem.work,
                     plan.split.first,
                     NULL,
                     plan.schedule,
                     t->at_once,
                     t->copies};
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
    static ons_status *(*const strategies[])(trying * t) = {try_portfolio, try_strategies, try_graphpipe,
                                                            try_groupings, try_flexpipe,   try_pfeife};
    for (size_t i = 0; i < sizeof strategies / sizeof *strategies; ++i) ONS_TRY(attempt(t, strategies[i]));
    return NULL;
}

/* All stages with as many micro-batches at once, and as many copies. */
static ons_status *try_alike(trying *t) {
    const instance *in = t->in;
    for (uint32_t i = 0; i < t->work_count; ++i)
        for (uint32_t copies = 1; copies <= in->copies_of_a_stage; copies *= 2) {
            t->at_once = 1u << i;
            t->copies = copies;
            if (in->devices % copies > 0 || in->micro_batches % (t->at_once * copies) > 0) continue;
            t->problem.work = t->works[i];
            t->problem.pipeline.stages = t->problem.pipeline.devices = in->devices / copies;
            t->problem.pipeline.micro_batches = in->micro_batches / (t->at_once * copies);
            ONS_TRY(try_all(t));
        }
    return NULL;
}

/* Workloads of 1, 2, 4, … micro-batches at once. */
static ons_status *load_works(const instance *in, const char *folder, ons_arena *arena, trying *t) {
    const char *graph = ons_arena_format(arena, "%s/%s", folder, in->graph);
    ons_workload *work, most;
    const ons_workload **works;
    bool same = true;
    ONS_NEW(works, arena, 32);
    ONS_NEW(work, arena, 1);
    ONS_TRY(ons_cost_file_load(graph, NULL, arena, work));
    works[t->work_count++] = work;
    if (in->graph_at_once != NULL)
        ONS_TRY(ons_cost_file_load(ons_arena_format(arena, "%s/%s", folder, in->graph_at_once), NULL, arena, &most));
    for (uint32_t size = 2; size <= in->most_at_once && same; size *= 2) {
        ons_workload *larger;
        ONS_NEW(larger, arena, 1);
        ONS_TRY(ons_workload_scale(works[0], &most, works[0]->samples * size, arena, larger, &same));
        ONS_CHECK(same, ONS_INVALID_DATA, "%s is not of the nodes of %s", in->graph_at_once, in->graph);
        works[t->work_count++] = larger;
    }
    t->works = works;
    return NULL;
}

ons_status *tries_run(const instance *in, const char *folder, ons_arena *arena, best_try *best) {
    /* The planner counts gaps between tensors that the checker does not, and lets senders wait where messages would
     * pile up: what fits here may be made for somewhat larger devices, or for smaller ones. With a host it also lets
     * parts wait for copies, and counts that their tensors are gone. */
    static const double shares[] = {1, 0.9, 1.1, 0.8, 0.7};
    size_t count = in->memory_bytes == 0 ? 1 : in->host_bandwidth > 0 ? 5 : 3;
    trying t = {.in = in, .arena = arena, .best = best};
    *best = (best_try){0};
    ONS_TRY(load_works(in, folder, arena, &t));
    t.problem = (ons_planning_problem){.link_bandwidth = in->link_bandwidth,
                                       .link_latency = in->link_latency,
                                       .host_bandwidth = in->host_bandwidth,
                                       .host_latency = in->host_latency,
                                       .memory = ons_memory_strategy_find("capuchin"),
                                       .objective = in->objective == STEP_SECONDS ? ONS_OBJECTIVE_BY_SCHEDULE
                                                                                  : ONS_OBJECTIVE_BOTTLENECK};
    for (size_t i = 0; i < count; ++i) {
        t.problem.capacity_bytes = (int64_t)((double)in->memory_bytes * shares[i]);
        ONS_TRY(try_alike(&t));
    }
    return NULL;
}
