#include "bench/shared_stages_search.h"

#include <math.h>

#include "planner/shared_stages/placed_simulation.h"

const char *const shared_system_names[SHARED_SYSTEMS] = {"Megatron", "T-1F1B in lockstep", "T-1F1B",
                                                         "one-to-one, orders searched", "FlexPipe"};

/* -------------------------------------------------------------------------------------------------------- one order */

static ons_status *simulate(const ons_placed_plan *plan, shared_run *run, ons_arena *arena) {
    uint32_t *limits;
    ons_action_list *lists;
    ons_placed_forecast f;
    ONS_TRY(ons_placed_limits(plan, run->extra, arena, &limits));
    run->order.limits = limits;
    ONS_TRY(ons_placed_lists_make(plan, &run->order, arena, &lists));
    ONS_TRY(ons_placed_simulate(plan, lists, arena, &f));
    ons_simulation_free(f.simulation);
    run->order.limits = NULL;
    run->seconds = f.seconds;
    run->busy_seconds = f.busy_seconds;
    run->bubble_share = f.bubble_share;
    run->peak_bytes = f.peak_bytes;
    return NULL;
}

/* *run: the faster of itself and this. What does not fit is infinitely slow. */
static ons_status *try_order(const shared_machine *m, const ons_placed_plan *plan, shared_run candidate,
                             shared_run *run) {
    ons_arena *arena = ons_arena_new();
    if (arena == NULL) return ons_status_out_of_memory();
    ons_status *status = simulate(plan, &candidate, arena);
    ons_arena_free(arena);
    if (status != NULL) return status;
    uint64_t tried = run->tried + 1;
    if (candidate.peak_bytes > m->capacity) candidate.seconds = INFINITY;
    if (candidate.seconds < run->seconds) *run = candidate;
    run->tried = tried;
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------- all orders */

enum { MOST_EXTRA = 32 };
static const double FAR = 1.3; /* of the best step so far: from there on, changes of our own orders are not tried */

/* The i-th change of an order; false: there are no more. */
static bool change(shared_run *run, shared_orders orders, uint32_t i) {
    static const uint32_t extras[] = {0, 1, 2, 4, 8, 16, MOST_EXTRA};
    enum { EXTRAS = sizeof extras / sizeof *extras, SWITCHES = 5 };
    ons_placed_order *o = &run->order;
    switch (i) {
    case 0: o->type = o->type == ONS_INTERLEAVED ? ONS_BACKWARD_FIRST : ONS_INTERLEAVED; return true;
    case 1: o->forward_depth_first = !o->forward_depth_first; return true;
    case 2: o->backward_depth_first = !o->backward_depth_first; return true;
    case 3: o->together_first = !o->together_first; return true;
    case 4: o->lockstep = !o->lockstep; return true;
    default: break;
    }
    if (orders == SHARED_BEST_1F1B) return false;
    if (i == SWITCHES) {
        o->apart = !o->apart;
        return true;
    }
    if (i - SWITCHES - 1 >= EXTRAS) return false;
    run->extra = extras[i - SWITCHES - 1];
    return true;
}

ons_status *shared_search_orders(const shared_machine *m, const ons_placed_plan *plan, shared_orders orders,
                                 shared_run run, shared_run *best) {
    run.order = (ons_placed_order){.type = ONS_BACKWARD_FIRST, .lockstep = orders == SHARED_1F1B};
    run.extra = 0;
    run.tried = 0;
    shared_run found = run;
    found.seconds = INFINITY;
    ONS_TRY(try_order(m, plan, run, &found));
    if (orders == SHARED_ANY) {
        run.order.apart = run.order.together_first = true;
        run.extra = 4;
        ONS_TRY(try_order(m, plan, run, &found));
    }
    bool promises = found.seconds < INFINITY;
    if (orders == SHARED_1F1B || (orders == SHARED_ANY && found.seconds >= FAR * best->seconds)) promises = false;
    for (bool better = promises; better;) {
        better = false;
        for (uint32_t i = 0;; ++i) {
            shared_run next = found;
            double before = found.seconds;
            if (!change(&next, orders, i)) break;
            ONS_TRY(try_order(m, plan, next, &found));
            better |= found.seconds < before;
        }
    }
    uint64_t tried = best->tried + found.tried;
    if (found.seconds < best->seconds) *best = found;
    best->tried = tried;
    return NULL;
}

/* ----------------------------------------------------------------------------------------------------- vocabularies */

enum { MOST_STAGES = 130 }; /* 32 devices, 4 on each, and the vocabulary's */

typedef struct searcher {
    const shared_machine *m;
    const shared_model *model;
    int64_t batch;
    shared_system system;
    shared_run *best;
} searcher;

static ons_status *make_plan(const searcher *x, const shared_run *run, ons_arena *arena, ons_placed_plan *plan) {
    const shared_way *w = &run->way;
    ons_placed_stage stages[MOST_STAGES];
    uint32_t first, count = w->devices * run->chunks;
    bool shards = x->system != SHARED_MEGATRON && w->devices > 1;
    ons_placed_stage embedding = shared_embedding(x->m, x->model, w, shards ? w->devices : 1);
    ons_placed_stage head = shared_head(x->m, x->model, w, shards ? w->devices : 1);
    ons_placed_line line = {.stages = stages,
                            .devices = w->devices,
                            .placement = run->placement,
                            .both_ways = w->both_ways,
                            .message = shared_message(x->m, x->model, w)};
    line.gradient_message = line.message;
    if (shards) stages[line.count++] = embedding;
    for (uint32_t i = 0; i < count; ++i) {
        int64_t layers = x->model->layers * (i + 1) / count - x->model->layers * i / count;
        stages[line.count++] = shared_layers(x->m, x->model, w, layers);
    }
    if (shards) stages[line.count++] = head;
    if (!shards) {
        shared_add(&stages[0], &embedding);
        shared_add(&stages[line.count - 1], &head);
    }
    *plan = (ons_placed_plan){.batch = x->batch / w->replicas};
    return ons_placed_plan_add_line(plan, &line, arena, &first);
}

enum { MOST_DEVICES = 64 };

double shared_least_seconds(const ons_placed_plan *plan) {
    double busy[MOST_DEVICES] = {0}, most = 0;
    for (uint32_t i = 0; i < plan->stage_count; ++i)
        for (uint32_t k = 0; k < plan->stages[i].copies; ++k) {
            const ons_placed_stage *s = &plan->stages[i];
            double *b = &busy[s->devices[k] % MOST_DEVICES];
            *b += ons_placed_copy_parts(plan, i, k) * (s->forward + s->input + s->weight) + s->update;
            most = fmax(most, *b);
        }
    return most;
}

static ons_status *search_plan(searcher *x, const shared_run *run) {
    static const shared_orders orders[SHARED_SYSTEMS] = {SHARED_BEST_1F1B, SHARED_1F1B, SHARED_BEST_1F1B, SHARED_ANY,
                                                         SHARED_ANY};
    ons_placed_plan plan;
    ons_arena *arena = ons_arena_new();
    if (arena == NULL) return ons_status_out_of_memory();
    ons_status *status = make_plan(x, run, arena, &plan);
    if (status == NULL && shared_least_seconds(&plan) < x->best->seconds)
        status = shared_search_orders(x->m, &plan, orders[x->system], *run, x->best);
    ons_arena_free(arena);
    return status;
}

static bool is_possible(const searcher *x, const shared_run *run) {
    if (x->model->layers < run->way.devices * run->chunks) return false;
    if (run->way.both_ways && (run->way.devices < 2 || x->batch / run->way.replicas < 2 * run->way.samples))
        return false;
    return x->system == SHARED_FLEXPIPE || (!run->way.both_ways && run->chunks == 1);
}

/* Placements with stages on each device. */
static const struct {
    ons_placement placement;
    uint32_t chunks;
} placements[] = {{ONS_PLACEMENT_ONE_TO_ONE, 1},
                  {ONS_PLACEMENT_CIRCULAR, 2},
                  {ONS_PLACEMENT_CIRCULAR, 4},
                  {ONS_PLACEMENT_V, 2},
                  {ONS_PLACEMENT_V, 4}};
enum { PLACEMENTS = sizeof placements / sizeof *placements };

static ons_status *search_placements(searcher *x, shared_run run) {
    for (int i = 0; i < PLACEMENTS; ++i)
        for (int k = 0; k < 4; ++k) {
            run.placement = placements[i].placement;
            run.chunks = placements[i].chunks;
            run.way.both_ways = k / 2 == 1;
            run.way.recompute = k % 2 == 1;
            if (is_possible(x, &run)) ONS_TRY(search_plan(x, &run));
        }
    return NULL;
}

ons_status *shared_best_of(const shared_machine *m, const shared_model *model, uint32_t devices, int64_t batch,
                           shared_system system, shared_run *best) {
    searcher x = {m, model, batch, system, best};
    *best = (shared_run){.seconds = INFINITY};
    for (uint32_t stages = 1; stages <= devices; stages *= 2)
        for (int64_t samples = 1; samples <= batch * stages / devices; samples *= 2) {
            const shared_way way = {.devices = stages, .replicas = devices / stages, .samples = samples};
            ONS_TRY(search_placements(&x, (shared_run){.way = way}));
        }
    return NULL;
}
