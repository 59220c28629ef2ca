/* Searches for //bench:shared_stages: the fastest step among ways to run a model that fit into memory. */
#ifndef ONSTAGE_BENCH_SHARED_STAGES_SEARCH_H
#define ONSTAGE_BENCH_SHARED_STAGES_SEARCH_H

#include "bench/shared_stages_models.h"
#include "planner/shared_stages/placed_lists.h"
#include "planner/shared_stages/placements.h"

/* What was simulated. */
typedef struct shared_run {
    double seconds; /* of a step; infinite: nothing fits */
    double busy_seconds, bubble_share;
    int64_t peak_bytes;
    shared_way way;
    ons_placement placement;
    uint32_t chunks;        /* stages on a device, beside those of the vocabulary */
    ons_placed_order order; /* its limits are those of `extra` */
    uint32_t extra;
    uint64_t tried;
} shared_run;

/* Which orders a search may use. */
typedef enum shared_orders {
    SHARED_1F1B,      /* backward first, the limits of 1F1B, as FlexPipe's generator arranges it in lockstep */
    SHARED_BEST_1F1B, /* the limits of 1F1B; priorities and all else are searched */
    SHARED_ANY,       /* limits are searched, too: more in flight, gradients apart */
} shared_orders;

/* Simulates the plan under orders, one change after another as long as that helps; what fits and is faster than *best
 * replaces it. `run` says what the plan is of. */
ons_status *shared_search_orders(const shared_machine *machine, const ons_placed_plan *plan, shared_orders orders,
                                 shared_run run, shared_run *best);

/* Seconds below which no step of the plan can be: what the busiest device computes. */
double shared_least_seconds(const ons_placed_plan *plan);

/* The vocabulary's cases: pipelines of powers of two, with replicas, of `devices` devices, and sizes of parts. */
typedef enum shared_system {
    SHARED_MEGATRON,   /* 1F1B, embedding and head with the first and the last layers */
    SHARED_LOCKSTEP,   /* T-1F1B: both sharded over all devices of a pipeline; as if all parts took as long */
    SHARED_T_1F1B,     /* T-1F1B with its priorities searched */
    SHARED_ONE_TO_ONE, /* a sharded vocabulary with more in flight than 1F1B, and gradients apart */
    SHARED_FLEXPIPE,   /* a sharded vocabulary with all placements searched */
    SHARED_SYSTEMS
} shared_system;
extern const char *const shared_system_names[SHARED_SYSTEMS];
ons_status *shared_best_of(const shared_machine *machine, const shared_model *model, uint32_t devices, int64_t batch,
                           shared_system system, shared_run *best);

/* Two towers before a contrastive loss. */
typedef struct shared_towers {
    const char *name;
    shared_model models[2]; /* the one that computes more, text */
    const char *names[2];
    double paper_ratio; /* over DistMM-Pipe, figure 16 */
} shared_towers;

typedef enum towers_system {
    TOWERS_LINE,     /* one plain pipeline, text's stages in front of the other's */
    TOWERS_DISTMM,   /* a pipeline for each tower; gathering holds the devices */
    TOWERS_HOLDING,  /* a pipeline for each tower; gathering holds the devices, orders are searched */
    TOWERS_FLEXPIPE, /* gathering runs beside; placements and orders searched */
    TOWERS_SYSTEMS
} towers_system;
extern const char *const towers_system_names[TOWERS_SYSTEMS];

typedef struct towers_run {
    shared_run run;
    uint32_t replicas, devices[2]; /* of each stage; stages' devices of a tower's pipeline */
    int64_t samples[2];
    uint32_t chunks[2]; /* stages on a device: circular where there are several */
    bool recompute;
} towers_run;

/* Tries numbers of replicas, devices for each tower near the even share, and sizes of parts; `group`: samples of a
 * step that the loss takes at once. */
ons_status *shared_best_towers(const shared_machine *machine, const shared_towers *towers, uint32_t devices,
                               int64_t batch, int64_t group, towers_system system, towers_run *best);

#endif
