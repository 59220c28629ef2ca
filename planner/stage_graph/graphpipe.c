#include "planner/stage_graph/graphpipe.h"

#include <math.h>

#include "planner/stage_graph/graph_simulation.h"
#include "planner/stage_graph/late_joins.h"
#include "planner/stage_graph/stage_lists.h"

static const double TOLERANCE = 1e-6;
enum {
    SIZES_OF_FREE_PACES = 3,
    TURNS_OF_FREE_PACES = 2,
    FIRST_LIMITS = 17, /* the last one is a million times the least */
    SLOWER_LIMITS = 9, /* the last one is more than twice the fastest */
};

/* The graph in one arrangement of its branches. */
typedef struct view {
    ons_series_parallel parts;
    ons_interval_costs *costs;
    ons_division_search *divisions;
} view;

typedef struct search {
    const ons_graph_problem *problem;
    const ons_graphpipe_options *options;
    view views[ONS_ARRANGEMENTS + 1];
    uint32_t view_count;
    const view *view; /* that is looked at */
    ons_arena *arena;
    ons_graphpipe_result *result;
} search;

/* -------------------------------------------------------------------------------------------------------- bisection */

static ons_status *divide_within(search *s, double limit, bool least_memory, ons_stage_graph *g) {
    ++s->result->division_searches;
    return ons_division_search_run(s->view->divisions, limit, least_memory, s->arena, g);
}

/* Finds a first plan by limits that grow from the least possible on, until nothing is slower than what is known
 * already: by 2 %, then by ever larger steps, three times the one before. A dynamic program under a tight limit is
 * quick, as little fits it; a bisection from far above would begin with slow ones. */
static ons_status *find_first(search *s, double least, double useful, double *below, ons_stage_graph *g) {
    double factor = 1, grow = 0.02;
    *below = least;
    for (uint32_t i = 0; i < FIRST_LIMITS; ++i, grow *= 3) {
        factor += grow;
        double limit = fmin(least * factor, useful);
        ONS_TRY(divide_within(s, limit, false, g));
        if (g->stage_count > 0 || limit >= useful) return NULL;
        *below = limit;
    }
    return NULL;
}

/* `useful`: slower plans are not wanted. stage_count 0: there is none. A plan that was found is mostly faster than the
 * limit under which it was, so that its own time becomes the upper end. Only the last search, under the time that was
 * found, breaks ties by memory. */
static ons_status *bisect(search *s, double useful, ons_stage_graph *g) {
    double below, least = ons_division_search_least_seconds(s->view->divisions) * (1 - 1e-9);
    g->stage_count = 0;
    if (!(least < useful)) return NULL;
    ONS_TRY(find_first(s, least, useful, &below, g));
    if (g->stage_count == 0) return NULL;
    while (g->seconds_per_sample - below > TOLERANCE * g->seconds_per_sample) {
        ons_stage_graph better;
        double limit = below + (g->seconds_per_sample - below) / 2;
        ONS_TRY(divide_within(s, limit, false, &better));
        if (better.stage_count > 0)
            *g = better;
        else
            below = limit;
    }
    return divide_within(s, g->seconds_per_sample * (1 + 1e-12), true, g);
}

/* ----------------------------------------------------------------------------------------------- sizes and the step */

/* Lists the paces that stages may have where the largest micro-batch has so many samples. Joint nodes add the whole
 * batch at once. */
static uint32_t set_paces(const search *s, ons_pace_choice choice, int64_t samples, ons_stage_pace *paces) {
    bool equal = choice == ONS_PACE_EQUAL;
    uint32_t count = 0, sizes = equal ? 1 : SIZES_OF_FREE_PACES, turns = equal ? 1 : TURNS_OF_FREE_PACES;
    for (uint32_t i = 0; i < sizes && samples >> i > 0; ++i)
        for (uint32_t k = 1; k <= turns && k * (samples >> i) <= samples; ++k)
            paces[count++] = (ons_stage_pace){samples >> i, k};
    if (s->problem->joint != NULL && samples != s->problem->batch)
        paces[count++] = (ons_stage_pace){s->problem->batch, 1};
    return count;
}

/* Stages of a line wait for the one before even where nothing goes from it to them, so edges say that before lists are
 * made. */
static ons_status *simulate(search *s, ons_stage_graph *g, double *seconds) {
    ons_action_list *lists;
    ons_simulation *simulation;
    if (s->options->line) {
        ONS_TRY(ons_stage_graph_connect(g, s->problem->work[0], true, s->arena));
        ONS_TRY(ons_stage_graph_predict(g, s->view->costs));
    }
    ONS_TRY(ons_stage_lists_make(g, s->arena, &lists));
    ONS_TRY(ons_stage_graph_simulate(g, lists, s->view->costs, &simulation));
    *seconds = ons_simulation_seconds(simulation);
    ons_simulation_free(simulation);
    return NULL;
}

/* Seconds for a sample with which a step could still be the shortest. */
static double useful_seconds(const search *s) {
    return s->result->feasible ? s->result->step_seconds / (double)s->problem->batch : INFINITY;
}

/* `taken`: it is the fastest so far. */
static ons_status *take_if_faster(search *s, ons_stage_graph *g, bool *taken) {
    double seconds;
    ONS_TRY(simulate(s, g, &seconds));
    *taken = !s->result->feasible || seconds < s->result->step_seconds;
    if (!*taken) return NULL;
    s->result->feasible = true;
    s->result->graph = *g;
    s->result->step_seconds = seconds;
    return NULL;
}

/* Takes the plan of least memory under the same limit where its step is no longer. */
static ons_status *spare_memory(search *s, double limit) {
    ons_stage_graph g;
    double seconds;
    ONS_TRY(divide_within(s, limit, true, &g));
    if (g.stage_count == 0) return NULL;
    ONS_TRY(simulate(s, &g, &seconds));
    if (seconds > s->result->step_seconds || g.memory_bytes > s->result->graph.memory_bytes) return NULL;
    s->result->graph = g;
    s->result->step_seconds = seconds;
    return NULL;
}

static bool is_same(const ons_stage_graph *a, const ons_stage_graph *b) {
    return a->stage_count == b->stage_count && a->seconds_per_sample == b->seconds_per_sample &&
           a->memory_bytes == b->memory_bytes;
}

/* Where a stage may be slower there are fewer stages in a row, which fill and empty sooner. */
static ons_status *try_slower(search *s, const ons_stage_graph *fastest) {
    ons_stage_graph last = *fastest;
    double slower = 0.005;
    for (uint32_t i = 0; i < SLOWER_LIMITS; ++i, slower *= 2) {
        ons_stage_graph g;
        bool taken;
        double limit = fastest->seconds_per_sample * (1 + slower);
        if (!(limit < useful_seconds(s))) return NULL;
        ONS_TRY(divide_within(s, limit, false, &g));
        if (g.stage_count == 0 || is_same(&g, &last)) continue;
        last = g;
        ONS_TRY(take_if_faster(s, &g, &taken));
        if (taken) ONS_TRY(spare_memory(s, limit));
    }
    return NULL;
}

/* Of all arrangements the plan whose slowest stage is fastest; `from`: the one that it is of. */
static ons_status *find_fastest(search *s, ons_pace_choice choice, int64_t samples, ons_stage_graph *fastest,
                                const view **from) {
    ons_stage_pace paces[ONS_PACES_MOST];
    uint32_t count = set_paces(s, choice, samples, paces);
    fastest->stage_count = 0;
    *from = NULL;
    for (uint32_t i = 0; i < s->view_count; ++i) {
        ons_stage_graph g;
        s->view = &s->views[i];
        ons_division_search_set_paces(s->view->divisions, paces, count);
        ONS_TRY(bisect(s, fastest->stage_count > 0 ? fastest->seconds_per_sample : useful_seconds(s), &g));
        if (g.stage_count == 0) continue;
        *fastest = g;
        *from = s->view;
    }
    return NULL;
}

static ons_status *take_fastest(search *s, ons_pace_choice choice, int64_t samples) {
    ons_stage_graph g;
    const view *from;
    bool taken;
    ONS_TRY(find_fastest(s, choice, samples, &g, &from));
    s->view = from;
    return g.stage_count > 0 ? take_if_faster(s, &g, &taken) : NULL;
}

/* Tries, in each arrangement, the plan whose slowest stage is fastest, and then slower ones that may fill and empty
 * sooner. `useful` shrinks with every plan that is taken, so later arrangements are done with quickly. */
static ons_status *take_shortest_step(search *s, ons_pace_choice choice, int64_t samples) {
    ons_stage_pace paces[ONS_PACES_MOST];
    uint32_t count = set_paces(s, choice, samples, paces);
    for (uint32_t i = 0; i < s->view_count; ++i) {
        ons_stage_graph g;
        bool taken;
        s->view = &s->views[i];
        ons_division_search_set_paces(s->view->divisions, paces, count);
        ONS_TRY(bisect(s, useful_seconds(s), &g));
        if (g.stage_count == 0) continue;
        ONS_TRY(take_if_faster(s, &g, &taken));
        ONS_TRY(try_slower(s, &g));
    }
    return NULL;
}

static ons_status *try_samples(search *s, int64_t samples) {
    if (s->options->objective == ONS_OBJECTIVE_BOTTLENECK) return take_fastest(s, s->options->paces, samples);
    ONS_TRY(take_shortest_step(s, ONS_PACE_EQUAL, samples));
    return s->options->paces == ONS_PACE_FREE ? take_shortest_step(s, ONS_PACE_FREE, samples) : NULL;
}

static ons_status *try_all_samples(search *s) {
    if (s->options->samples > 0) return try_samples(s, s->options->samples);
    /* From the largest that divides the batch on: small ones are slow for a sample, and are done with at once by then.
     */
    int64_t batch = s->problem->batch;
    for (int64_t samples = batch & -batch; samples > 0; samples /= 2) ONS_TRY(try_samples(s, samples));
    return NULL;
}

/* ----------------------------------------------------------------------------------------------------- arrangements */

static bool is_same_order(const uint32_t *a, const uint32_t *b, uint32_t count) {
    return memcmp(a, b, count * sizeof *a) == 0;
}

static ons_status *add_view(search *s) {
    view *v = &s->views[s->view_count++];
    ONS_TRY(ons_interval_costs_new(s->problem, v->parts.order, &v->costs));
    s->result->converted = v->parts.converted;
    return ons_division_search_new(&v->parts, v->costs, &v->divisions);
}

/* Of branches that are all alike there is one arrangement, of a line as well. */
static ons_status *add_views(search *s) {
    const ons_workload *work = s->problem->work[0];
    if (s->options->line) {
        ONS_TRY(ons_series_parallel_line(work, s->arena, &s->views[0].parts));
        return add_view(s);
    }
    for (ons_arrangement i = 0; i < ONS_ARRANGEMENTS; ++i) {
        ons_series_parallel *parts = &s->views[s->view_count].parts;
        ONS_TRY(ons_series_parallel_make(work, i, s->arena, parts));
        if (i == 0 || !is_same_order(s->views[0].parts.order, parts->order, work->node_count)) ONS_TRY(add_view(s));
    }
    bool changed;
    ONS_TRY(
        ons_series_parallel_join_late(&s->views[0].parts, work, s->arena, &s->views[s->view_count].parts, &changed));
    return changed ? add_view(s) : NULL;
}

ons_status *ons_graphpipe_search(const ons_graph_problem *problem, const ons_graphpipe_options *options,
                                 ons_arena *arena, ons_graphpipe_result *result) {
    search s = {.problem = problem, .options = options, .arena = arena, .result = result};
    *result = (ons_graphpipe_result){0};
    ONS_CHECK(options->samples >= 0 && (options->samples & (options->samples - 1)) == 0 &&
                  (options->samples == 0 || problem->batch % options->samples == 0),
              ONS_INVALID_ARGUMENT, "micro-batches of %lld samples: a power of two that divides %lld, or 0 for any",
              (long long)options->samples, (long long)problem->batch);
    ons_status *status = add_views(&s);
    if (status == NULL) status = try_all_samples(&s);
    for (uint32_t i = 0; i < s.view_count; ++i) {
        ons_division_search_free(s.views[i].divisions);
        ons_interval_costs_free(s.views[i].costs);
    }
    return status;
}
