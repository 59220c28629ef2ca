#include <math.h>

#include "bench/shared_stages_search.h"

const char *const towers_system_names[TOWERS_SYSTEMS] = {"one line", "DistMM-Pipe", "DistMM-Pipe, orders searched",
                                                         "FlexPipe"};

enum { MOST_STAGES = 160, FEATURES = 1024 };

typedef struct searcher {
    const shared_machine *m;
    const shared_towers *towers;
    uint32_t devices;
    int64_t batch, group;
    towers_system system;
    towers_run *best;
} searcher;

/* Sends what the towers have made of a group to all that compute the loss, which each does for itself. */
static ons_placed_stage loss_costs(const searcher *x, const towers_run *t, uint32_t ends) {
    double g = (double)x->group;
    int64_t bytes = 2 * x->group * FEATURES * SHARED_ELEMENT_BYTES;
    ons_placed_stage s = {.samples = x->group / t->replicas,
                          .holds = x->system == TOWERS_DISTMM || x->system == TOWERS_HOLDING};
    s.forward = ons_device_profile_seconds(&x->m->profile, 2 * g * g * FEATURES, 2 * g * FEATURES, true);
    s.input = 2 * s.forward;
    s.collectives[ONS_BEFORE_FORWARD] = ons_collective_gather_seconds(x->m->network, bytes, ends * t->replicas);
    return s;
}

/* As many layers in each stage as can be. */
static ons_placed_line tower_line(const searcher *x, const towers_run *t, int tower, uint32_t first_device,
                                  ons_placed_stage *stages) {
    const shared_model *model = &x->towers->models[tower];
    shared_way way = {.devices = t->devices[0] + t->devices[1],
                      .replicas = t->replicas,
                      .samples = t->samples[tower],
                      .recompute = t->recompute};
    uint32_t count = t->devices[tower] * t->chunks[tower];
    for (uint32_t i = 0; i < count; ++i)
        stages[i] = shared_layers(x->m, model, &way, model->layers * (i + 1) / count - model->layers * i / count);
    double message = shared_message(x->m, model, &way);
    return (ons_placed_line){.stages = stages,
                             .count = count,
                             .first_device = first_device,
                             .devices = t->devices[tower],
                             .placement = t->chunks[tower] > 1 ? ONS_PLACEMENT_CIRCULAR : ONS_PLACEMENT_ONE_TO_ONE,
                             .message = message,
                             .gradient_message = message};
}

/* In one line the other tower's first stage waits for the text's last one, and its gradients for that stage's. */
static ons_status *make_plan(const searcher *x, const towers_run *t, ons_arena *arena, ons_placed_plan *plan) {
    ons_placed_stage stages[MOST_STAGES];
    uint32_t first[2], last[2];
    *plan = (ons_placed_plan){.batch = x->batch / t->replicas};
    ons_placed_line text = tower_line(x, t, 1, 0, stages);
    ONS_TRY(ons_placed_plan_add_line(plan, &text, arena, &first[1]));
    last[1] = plan->stage_count - 1;
    ons_placed_line other = tower_line(x, t, 0, t->devices[1], stages);
    ONS_TRY(ons_placed_plan_add_line(plan, &other, arena, &first[0]));
    last[0] = plan->stage_count - 1;
    bool line = x->system == TOWERS_LINE;
    if (line) plan->edges[plan->edge_count++] = (ons_placed_edge){last[1], first[0], text.message, text.message};
    ons_placed_stage loss = loss_costs(x, t, line ? 1 : 2);
    return ons_placed_plan_add_barrier(plan, &loss, last, line ? 1 : 2, arena);
}

static ons_status *search_plan(searcher *x, const towers_run *t) {
    static const shared_orders orders[TOWERS_SYSTEMS] = {SHARED_BEST_1F1B, SHARED_BEST_1F1B, SHARED_ANY, SHARED_ANY};
    ons_placed_plan plan;
    double before = x->best->run.seconds;
    ons_arena *arena = ons_arena_new();
    if (arena == NULL) return ons_status_out_of_memory();
    ons_status *status = make_plan(x, t, arena, &plan);
    if (status == NULL && shared_least_seconds(&plan) < before)
        status = shared_search_orders(x->m, &plan, orders[x->system], (shared_run){.seconds = INFINITY}, &x->best->run);
    if (status == NULL && x->best->run.seconds < before) {
        shared_run run = x->best->run;
        *x->best = *t;
        x->best->run = run;
    }
    ons_arena_free(arena);
    return status;
}

/* ------------------------------------------------------------------------------------------------------------ space */

/* Seconds of a tower for one sample on one device. */
static double tower_seconds(const searcher *x, int tower) {
    const shared_way way = {.devices = 1, .replicas = 1, .samples = 1};
    ons_placed_stage s = shared_layers(x->m, &x->towers->models[tower], &way, x->towers->models[tower].layers);
    return s.forward + s.input + s.weight;
}

static ons_status *search_chunks(searcher *x, towers_run t) {
    enum { MOST = 4 };
    uint32_t most = x->system == TOWERS_FLEXPIPE ? MOST : 1;
    for (t.chunks[0] = 1; t.chunks[0] <= most; t.chunks[0] *= 2)
        for (t.chunks[1] = 1; t.chunks[1] <= most; t.chunks[1] *= 2)
            for (int recompute = 0; recompute < 2; ++recompute) {
                t.recompute = recompute == 1;
                if (t.devices[0] * t.chunks[0] > x->towers->models[0].layers) continue;
                if (t.devices[1] * t.chunks[1] > x->towers->models[1].layers) continue;
                ONS_TRY(search_plan(x, &t));
            }
    return NULL;
}

/* In one line both have parts of the same samples. */
static ons_status *search_samples(searcher *x, towers_run t) {
    int64_t most = x->group / t.replicas;
    for (t.samples[0] = 1; t.samples[0] <= most; t.samples[0] *= 2)
        for (t.samples[1] = 1; t.samples[1] <= most; t.samples[1] *= 2)
            if (x->system != TOWERS_LINE || t.samples[0] == t.samples[1]) ONS_TRY(search_chunks(x, t));
    return NULL;
}

ons_status *shared_best_towers(const shared_machine *m, const shared_towers *towers, uint32_t devices, int64_t batch,
                               int64_t group, towers_system system, towers_run *best) {
    enum { AROUND = 1 };
    searcher x = {m, towers, devices, batch, group, system, best};
    *best = (towers_run){.run = {.seconds = INFINITY}};
    double text = tower_seconds(&x, 1), share = text / (text + tower_seconds(&x, 0));
    for (uint32_t replicas = 8; replicas > 0; replicas /= 2) {
        uint32_t each = devices / replicas, even = (uint32_t)(each * share);
        for (uint32_t of_text = even > AROUND ? even - AROUND : 1; of_text <= even + 1 + AROUND && of_text < each;
             ++of_text) {
            towers_run t = {.replicas = replicas, .devices = {each - of_text, of_text}};
            ONS_TRY(search_samples(&x, t));
        }
    }
    return NULL;
}
