#include <math.h>

#include "planner/partition/link.h"
#include "planner/search/layer_chain.h"

/* The best plan of the layers from one on, on so many devices, in so many stages where their number is given. */
typedef struct cell {
    double seconds;
    uint32_t end, replicas; /* of its first stage */
} cell;

typedef struct planner {
    const ons_layer_chain *chain;
    uint32_t devices, stages; /* stages 0: any number */
    cell *cells;              /* [(stages · (layers + 1) + layer) · (devices + 1) + devices] */
} planner;

static cell *cell_at(const planner *pl, uint32_t stages, uint32_t layer, uint32_t devices) {
    return &pl->cells[((size_t)stages * (pl->chain->count + 1) + layer) * (pl->devices + 1) + devices];
}

/* Gives the seconds over the cut in front of a layer, forth and back, for a micro-batch; none at either end of the
 * model. */
static double transfer_seconds(const planner *pl, uint32_t layer) {
    if (layer == 0 || layer == pl->chain->count) return 0;
    const ons_chain_layer *l = &pl->chain->layers[layer];
    return ons_link_seconds(ons_link_in_node(pl->chain->problem), l->activation_bytes) +
           ons_link_seconds(ons_link_in_node(pl->chain->problem), l->gradient_bytes);
}

/* Sums over a stage's layers, as it grows. */
typedef struct sums {
    double seconds;                  /* of a micro-batch, forth and back */
    int64_t parameters, saved, held; /* bytes; `saved` of each micro-batch in flight */
} sums;

static void add_layer(sums *s, const ons_chain_layer *layer) {
    s->seconds += layer->forward + layer->backward;
    s->parameters += layer->parameter_bytes;
    s->saved += layer->saved_bytes;
    s->held += layer->held_bytes;
}

/* Seconds of a micro-batch on a stage of `replicas`, which with all that is behind it takes `devices`; infinite where
 * the stage does not fit. Of all bytes that replicas add up, once in a step, each sends and receives (d - 1) / d,
 * twice. */
static double stage_seconds(const planner *pl, const sums *s, uint32_t first, uint32_t end, uint32_t devices,
                            uint32_t replicas) {
    const ons_planning_problem *p = pl->chain->problem;
    int64_t in_flight = (devices + replicas - 1) / replicas;
    if (p->capacity_bytes > 0 && in_flight * s->saved + s->held > p->capacity_bytes) return INFINITY;
    double own = s->seconds + transfer_seconds(pl, first) + transfer_seconds(pl, end), sum = 0;
    if (p->link_bandwidth > 0)
        sum = 4.0 * (replicas - 1) / replicas * (double)s->parameters / p->link_bandwidth / p->pipeline.micro_batches;
    return own / replicas + sum;
}

/* Fills one cell from cells of later layers: over all first stages, the least of what is slower, that stage or the
 * rest. O(layers · devices) each, so O(layers² · devices²) for a number of stages. */
static void fill(const planner *pl, uint32_t stages, uint32_t first, uint32_t devices) {
    cell *c = cell_at(pl, stages, first, devices);
    uint32_t left = stages > 0 ? stages - 1 : 0;
    sums s = {0};
    *c = (cell){.seconds = INFINITY};
    if (stages == 0 && pl->stages > 0) return;
    for (uint32_t end = first + 1; end <= pl->chain->count; ++end) {
        add_layer(&s, &pl->chain->layers[end - 1]);
        for (uint32_t replicas = 1; replicas <= devices; ++replicas) {
            double own = stage_seconds(pl, &s, first, end, devices, replicas);
            double all = fmax(own, cell_at(pl, left, end, devices - replicas)->seconds);
            if (all < c->seconds) *c = (cell){all, end, replicas};
        }
    }
}

/* Behind the last layer no stages are left to make: that is done where none are wanted, and impossible otherwise. Where
 * any number of stages will do, `stages` is 0 everywhere. */
static void fill_all(const planner *pl, uint32_t stages) {
    for (uint32_t d = 0; d <= pl->devices; ++d)
        cell_at(pl, stages, pl->chain->count, d)->seconds = stages == 0 ? 0 : INFINITY;
    for (uint32_t layer = pl->chain->count; layer-- > 0;)
        for (uint32_t d = 0; d <= pl->devices; ++d) fill(pl, stages, layer, d);
}

/* Walks from the first layer on; each cell names its first stage, and what is left is another cell. */
static void take_plan(const planner *pl, uint32_t devices, ons_replicated_plan *plan) {
    uint32_t left = pl->stages;
    for (uint32_t layer = 0; layer < pl->chain->count;) {
        const cell *c = cell_at(pl, left, layer, devices);
        plan->replicas[plan->stages++] = c->replicas;
        plan->first[plan->stages] = layer = c->end;
        devices -= c->replicas;
        left -= left > 0;
    }
}

ons_status *ons_piper_plan(const ons_layer_chain *chain, uint32_t devices, uint32_t stages, ons_arena *arena,
                           ons_replicated_plan *plan) {
    planner pl = {.chain = chain, .devices = devices, .stages = stages};
    uint32_t used = 0;
    *plan = (ons_replicated_plan){.seconds = INFINITY};
    ONS_NEW(plan->first, arena, (size_t)devices + 1);
    ONS_NEW(plan->replicas, arena, devices);
    ONS_NEW(pl.cells, arena, ((size_t)stages + 1) * ((size_t)chain->count + 1) * ((size_t)devices + 1));
    for (uint32_t i = 0; i <= stages; ++i) fill_all(&pl, i);
    for (uint32_t d = 1; d <= devices; ++d)
        if (cell_at(&pl, stages, 0, d)->seconds < cell_at(&pl, stages, 0, used)->seconds) used = d;
    plan->seconds = cell_at(&pl, stages, 0, used)->seconds;
    if (isfinite(plan->seconds)) take_plan(&pl, used, plan);
    return NULL;
}
