#include <math.h>
#include <string.h>

#include "planner/partition/link.h"
#include "planner/search/layer_chain.h"

/* Transfers are stages of their own between those of layers. */
typedef struct part {
    double forward, backward; /* seconds of a micro-batch */
    double reduce;            /* seconds at the step's end: replicas add their gradients up */
} part;

typedef struct planner {
    const ons_layer_chain *chain;
    uint32_t devices, least_stages;
    ons_replicated_plan *kept; /* [layers · devices + devices - 1]: of the first layers on so many devices */
    ons_replicated_plan trial;
    part *parts;
} planner;

/* A ring: each of r replicas sends a piece of 1 / r of the bytes 2 (r - 1) times. */
static double all_reduce(const ons_planning_problem *p, int64_t bytes, uint32_t replicas) {
    return replicas > 1 ? 2.0 * (replicas - 1) * ons_link_seconds(ons_link_in_node(p), bytes / replicas) : 0;
}

/* Splits and replicas of both sides: as many links as the side with fewer has. */
static part make_transfer(const planner *pl, uint32_t layer, uint32_t before, uint32_t behind) {
    const ons_chain_layer *l = &pl->chain->layers[layer];
    double links = before < behind ? before : behind;
    return (part){ons_link_seconds(ons_link_in_node(pl->chain->problem), l->activation_bytes) / links,
                  ons_link_seconds(ons_link_in_node(pl->chain->problem), l->gradient_bytes) / links, 0};
}

/* Lists the stages of a plan with the transfers between them, in order: 2 · stages - 1 parts. */
static uint32_t make_parts(const planner *pl, const ons_replicated_plan *plan) {
    uint32_t count = 0;
    for (uint32_t s = 0; s < plan->stages; ++s) {
        part own = {0};
        int64_t bytes = 0;
        if (s > 0) pl->parts[count++] = make_transfer(pl, plan->first[s], plan->replicas[s - 1], plan->replicas[s]);
        for (uint32_t i = plan->first[s]; i < plan->first[s + 1]; ++i) {
            own.forward += pl->chain->layers[i].forward / plan->replicas[s];
            own.backward += pl->chain->layers[i].backward / plan->replicas[s];
            bytes += pl->chain->layers[i].parameter_bytes;
        }
        own.reduce = all_reduce(pl->chain->problem, bytes, plan->replicas[s]);
        pl->parts[count++] = own;
    }
    return count;
}

/* From the end on: a part takes over where its own rounds take longer than the pivot's with what lies in between. */
static uint32_t find_pivot(const part *parts, uint32_t count, double rounds) {
    uint32_t pivot = count - 1;
    for (uint32_t s = pivot; s-- > 0;) {
        double between = 0;
        for (uint32_t a = s + 1; a < pivot; ++a) between += parts[a].forward + parts[a].backward;
        double own = rounds * (parts[s].forward + parts[s].backward);
        if (own > rounds * (parts[pivot].forward + parts[pivot].backward) + between) pivot = s;
    }
    return pivot;
}

/* Warm-up, steady phase and end: the paper's T_w + T_s + T_e. */
static double latency(const planner *pl, const ons_replicated_plan *plan) {
    const part *parts = pl->parts;
    uint32_t count = make_parts(pl, plan);
    double rounds = pl->chain->problem->pipeline.micro_batches - 1.0, seconds = 0, end = 0;
    uint32_t pivot = find_pivot(parts, count, rounds);
    for (uint32_t s = 0; s <= pivot; ++s) seconds += parts[s].forward;
    seconds += rounds * (parts[pivot].forward + parts[pivot].backward);
    for (uint32_t s = 0; s < count; ++s) {
        double back = 0;
        for (uint32_t a = s; a <= pivot; ++a) back += parts[a].backward;
        for (uint32_t a = pivot; a < s; ++a) back -= parts[a].backward;
        end = fmax(end, parts[s].reduce + back);
    }
    return seconds + end;
}

static void append(ons_replicated_plan *plan, uint32_t end, uint32_t replicas) {
    plan->replicas[plan->stages++] = replicas;
    plan->first[plan->stages] = end;
}

static void copy_plan(const ons_replicated_plan *from, ons_replicated_plan *to) {
    to->stages = from->stages;
    to->seconds = from->seconds;
    memcpy(to->first, from->first, (from->stages + 1) * sizeof *to->first);
    memcpy(to->replicas, from->replicas, from->stages * sizeof *to->replicas);
}

static ons_status *allocate(ons_arena *arena, uint32_t devices, ons_replicated_plan *plan) {
    *plan = (ons_replicated_plan){.seconds = INFINITY};
    ONS_NEW(plan->first, arena, (size_t)devices + 1);
    ONS_NEW(plan->replicas, arena, devices);
    return NULL;
}

static ons_replicated_plan *kept_at(const planner *pl, uint32_t layers, uint32_t devices) {
    return &pl->kept[(size_t)layers * pl->devices + devices - 1];
}

/* The trial, whose stages end at `layers` with so many devices: with the rest as one stage, and kept if it is best. */
static void evaluate_plan(planner *pl, uint32_t layers, uint32_t devices, ons_replicated_plan *best) {
    ons_replicated_plan *kept = kept_at(pl, layers, devices);
    append(&pl->trial, pl->chain->count, pl->devices - devices);
    pl->trial.seconds = latency(pl, &pl->trial);
    if (pl->trial.seconds < best->seconds && pl->trial.stages >= pl->least_stages) copy_plan(&pl->trial, best);
    --pl->trial.stages;
    if (pl->trial.seconds < kept->seconds) copy_plan(&pl->trial, kept);
}

/* Tries all ways to put the first `layers` on so many devices: as one stage, or as the best plan of fewer layers and a
 * stage behind it. Only the best plan of each (layers, devices) is made longer, as the paper has it; that is not exact,
 * since the pivot may change with what follows. */
static void extend(planner *pl, uint32_t layers, uint32_t devices, ons_replicated_plan *best) {
    pl->trial.stages = 0;
    append(&pl->trial, layers, devices);
    evaluate_plan(pl, layers, devices, best);
    for (uint32_t before = 1; before < layers; ++before)
        for (uint32_t used = 1; used < devices; ++used) {
            copy_plan(kept_at(pl, before, used), &pl->trial);
            append(&pl->trial, layers, devices - used);
            evaluate_plan(pl, layers, devices, best);
        }
}

ons_status *ons_dapple_plan(const ons_layer_chain *chain, uint32_t devices, uint32_t least_stages, ons_arena *arena,
                            ons_replicated_plan *plan) {
    planner pl = {.chain = chain, .devices = devices, .least_stages = least_stages};
    size_t cells = (size_t)chain->count * devices;
    ONS_NEW(pl.kept, arena, cells);
    ONS_NEW(pl.parts, arena, 2 * (size_t)devices);
    for (size_t i = 0; i < cells; ++i) ONS_TRY(allocate(arena, devices, &pl.kept[i]));
    ONS_TRY(allocate(arena, devices, &pl.trial));
    ONS_TRY(allocate(arena, devices, plan));
    append(&pl.trial, chain->count, devices);
    pl.trial.seconds = latency(&pl, &pl.trial);
    if (least_stages <= 1) copy_plan(&pl.trial, plan);
    for (uint32_t layers = 1; layers < chain->count; ++layers)
        for (uint32_t used = 1; used < devices; ++used) extend(&pl, layers, used, plan);
    return NULL;
}
